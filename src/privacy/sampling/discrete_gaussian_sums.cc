#include "privacy/sampling/discrete_gaussian_sums.h"

#include <algorithm>
#include <cmath>

namespace partita::privacy {
namespace {

constexpr mpfr_prec_t kSumsPrecision = kDefaultPrecision;

PreciseInterval ExactOne() { return PreciseInterval::Of(1.0, kSumsPrecision); }

// Without temporaries, for sums of very many terms.
void Accumulate(PreciseInterval& sum, const PreciseInterval& term) {
  mpfr_add(sum.lower().get(), sum.lower().get(), term.lower().get(), MPFR_RNDD);
  mpfr_add(sum.upper().get(), sum.upper().get(), term.upper().get(), MPFR_RNDU);
}

// Both are positive.
void ScaleBy(PreciseInterval& value, const PreciseInterval& by) {
  mpfr_mul(value.lower().get(), value.lower().get(), by.lower().get(), MPFR_RNDD);
  mpfr_mul(value.upper().get(), value.upper().get(), by.upper().get(), MPFR_RNDU);
}

// A threshold beyond this is as good as at this: nothing is summed there, the bound of the rest
// covers it.
int64_t Clamped(double k) {
  return static_cast<int64_t>(std::clamp(k, -kMaxSummedShift, kMaxSummedShift));
}

// P(X >= from) - e^eps P(X >= from + shift): a lower bound of the profile for any `from`.
PreciseInterval Threshold(const DiscreteGaussianTails& tails, int64_t from, int64_t shift,
                          double epsilon) {
  return tails.AtLeast(from) -
         Exp(PreciseInterval::Of(epsilon, kSumsPrecision)) * tails.AtLeast(from + shift);
}

}  // namespace

DiscreteGaussianTails::DiscreteGaussianTails(const GridVariance& variance)
    : variance_(variance), total_(kSumsPrecision) {
  const PreciseInterval exponent = -(ExactOne() / PreciseInterval::Of(variance, kSumsPrecision));
  // Masses follow from each other by products: exp(-(2k+1)/(2s)) leads from k to k + 1, and the
  // factor exp(-1/s) from one such ratio to the next.
  PreciseInterval mass = ExactOne(), ratio = Exp(ShiftLeft(exponent, -1));
  const PreciseInterval factor = Exp(exponent);
  const double stddev = StddevUpperBound(variance);
  const auto count = static_cast<size_t>(std::ceil(24 * stddev)) + 2;
  sums_.reserve(count + 1);
  for (size_t k = 0; k < count; ++k) {
    sums_.push_back(mass);
    ScaleBy(mass, ratio);
    ScaleBy(ratio, factor);
  }
  // What follows falls at least as fast as the ratio reached: in all at most mass / (1 - ratio),
  // below mass (1 + sigma) at 24 sigma.
  sums_.push_back(mass * PreciseInterval::Of(1 + stddev, kSumsPrecision));
  mpfr_set_zero(sums_.back().lower().get(), 1);
  for (size_t k = count; k-- > 0;) Accumulate(sums_[k], sums_[k + 1]);
  total_ = ShiftLeft(sums_[0], 1) - ExactOne();
}

PreciseInterval DiscreteGaussianTails::AtLeast(int64_t k) const {
  // P(X >= k) = 1 - P(X >= 1 - k).
  if (k <= 0) return ExactOne() - AtLeast(1 - k);
  return sums_[std::min(static_cast<size_t>(k), sums_.size() - 1)] / total_;
}

PreciseInterval DiscreteGaussianProfile(const DiscreteGaussianTails& tails, double shift,
                                        double epsilon) {
  const PreciseInterval distance = PreciseInterval::Of(shift, kSumsPrecision);
  const PreciseInterval cut = PreciseInterval::Of(epsilon, kSumsPrecision) *
                                  PreciseInterval::Of(tails.variance(), kSumsPrecision) / distance -
                              ShiftLeft(distance, -1);
  // The best threshold is one of these two; one, unless `cut` straddles a whole number.
  const int64_t first = Clamped(std::floor(cut.LowerBound())) + 1;
  const int64_t second = Clamped(std::floor(cut.UpperBound())) + 1;
  const auto steps = static_cast<int64_t>(shift);
  PreciseInterval best = Positive(Threshold(tails, first, steps, epsilon));
  if (second != first) {
    const PreciseInterval other = Positive(Threshold(tails, second, steps, epsilon));
    mpfr_max(best.lower().get(), best.lower().get(), other.lower().get(), MPFR_RNDD);
    mpfr_max(best.upper().get(), best.upper().get(), other.upper().get(), MPFR_RNDU);
  }
  return best;
}

}  // namespace partita::privacy
