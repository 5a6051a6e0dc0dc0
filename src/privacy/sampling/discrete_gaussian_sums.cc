#include "privacy/sampling/discrete_gaussian_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace partita::privacy {
namespace {

constexpr mpfr_prec_t kSumsPrecision = kDefaultPrecision;

// Sums from `first` on of exp(-k^2 / (2 s)), one per requested `first` >= 0, in one pass over k,
// without a temporary per term: masses follow from each other by products.
class TailSums {
 public:
  TailSums(const GridVariance& variance, std::array<int64_t, 3> firsts)
      : firsts_(firsts),
        mass_(PreciseInterval::Of(1.0, kSumsPrecision)),
        // exp(-(2k+1)/(2s)) at k = 0, and the factor exp(-1/s) from one k to the next.
        ratio_(Exp(ShiftLeft(Exponent(variance), -1))),
        factor_(Exp(Exponent(variance))),
        sums_(3, PreciseInterval(kSumsPrecision)) {
    const double stddev = StddevUpperBound(variance);
    const auto last = static_cast<int64_t>(std::ceil(24 * stddev)) + 1;
    for (int64_t k = 0; k <= last; ++k) {
      for (size_t i = 0; i < firsts_.size(); ++i) {
        if (k >= firsts_[i]) Accumulate(sums_[i], mass_);
      }
      Scale(mass_, ratio_);
      Scale(ratio_, factor_);
    }
    // What follows falls at least as fast as the ratio reached: in all at most mass / (1 - ratio),
    // below mass (1 + sigma) at 24 sigma. It lies in each sum for which k counts at all.
    PreciseInterval rest = mass_ * PreciseInterval::Of(1 + stddev, kSumsPrecision);
    mpfr_set_zero(rest.lower().get(), 1);
    for (PreciseInterval& sum : sums_) sum = sum + rest;
  }

  const PreciseInterval& From(size_t index) const { return sums_[index]; }

 private:
  static PreciseInterval Exponent(const GridVariance& variance) {
    return -(PreciseInterval::Of(1.0, kSumsPrecision) /
             PreciseInterval::Of(variance, kSumsPrecision));
  }
  static void Accumulate(PreciseInterval& sum, const PreciseInterval& term) {
    mpfr_add(sum.lower().get(), sum.lower().get(), term.lower().get(), MPFR_RNDD);
    mpfr_add(sum.upper().get(), sum.upper().get(), term.upper().get(), MPFR_RNDU);
  }
  // Both are positive.
  static void Scale(PreciseInterval& value, const PreciseInterval& by) {
    mpfr_mul(value.lower().get(), value.lower().get(), by.lower().get(), MPFR_RNDD);
    mpfr_mul(value.upper().get(), value.upper().get(), by.upper().get(), MPFR_RNDU);
  }

  std::array<int64_t, 3> firsts_;
  PreciseInterval mass_;
  PreciseInterval ratio_;
  PreciseInterval factor_;
  std::vector<PreciseInterval> sums_;
};

// A threshold beyond this is as good as at this: nothing is summed there, the bound of the rest
// covers it.
int64_t Clamped(double k) {
  return static_cast<int64_t>(std::clamp(k, -kMaxSummedShift, kMaxSummedShift));
}

// P(X >= from) - e^eps P(X >= from + shift): a lower bound of the profile for any `from`.
PreciseInterval Threshold(const GridVariance& variance, int64_t from, int64_t shift,
                          double epsilon) {
  const int64_t next = from + shift;
  // P(X >= k) = 1 - P(X >= 1 - k) for k <= 0.
  const auto mirrored = [](int64_t k) { return k > 0 ? k : 1 - k; };
  const TailSums sums(variance, {0, mirrored(from), mirrored(next)});
  const PreciseInterval one = PreciseInterval::Of(1.0, kSumsPrecision);
  const PreciseInterval total = ShiftLeft(sums.From(0), 1) - one;
  const auto tail = [&](int64_t k, size_t index) {
    const PreciseInterval part = sums.From(index) / total;
    return k > 0 ? part : one - part;
  };
  return tail(from, 1) - Exp(PreciseInterval::Of(epsilon, kSumsPrecision)) * tail(next, 2);
}

}  // namespace

PreciseInterval DiscreteGaussianProfile(const GridVariance& variance, double shift,
                                        double epsilon) {
  const PreciseInterval distance = PreciseInterval::Of(shift, kSumsPrecision);
  const PreciseInterval cut = PreciseInterval::Of(epsilon, kSumsPrecision) *
                                  PreciseInterval::Of(variance, kSumsPrecision) / distance -
                              ShiftLeft(distance, -1);
  // The best threshold is one of these two; one, unless `cut` straddles a whole number.
  const int64_t first = Clamped(std::floor(cut.LowerBound())) + 1;
  const int64_t second = Clamped(std::floor(cut.UpperBound())) + 1;
  const auto steps = static_cast<int64_t>(shift);
  PreciseInterval best = Positive(Threshold(variance, first, steps, epsilon));
  if (second != first) {
    const PreciseInterval other = Positive(Threshold(variance, second, steps, epsilon));
    mpfr_max(best.lower().get(), best.lower().get(), other.lower().get(), MPFR_RNDD);
    mpfr_max(best.upper().get(), best.upper().get(), other.upper().get(), MPFR_RNDU);
  }
  return best;
}

}  // namespace partita::privacy
