#include "privacy/sampling/discrete_gaussian_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace partita::privacy {
namespace {

constexpr mpfr_prec_t kPrecision = kDefaultPrecision;

// Sums from `first` on of exp(-k^2 / (2 s)), one per requested `first` >= 0, in one pass over k,
// without a temporary per term: masses follow from each other by products.
class TailSums {
 public:
  TailSums(const GridVariance& variance, std::array<int64_t, 3> firsts)
      : firsts_(firsts),
        mass_(Interval::Of(1.0, kPrecision)),
        // exp(-(2k+1)/(2s)) at k = 0, and the factor exp(-1/s) from one k to the next.
        ratio_(Exp(ShiftLeft(Exponent(variance), -1))),
        factor_(Exp(Exponent(variance))),
        sums_(3, Interval(kPrecision)) {
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
    Interval rest = mass_ * Interval::Of(1 + stddev, kPrecision);
    mpfr_set_zero(rest.lower().get(), 1);
    for (Interval& sum : sums_) sum = sum + rest;
  }

  const Interval& From(size_t index) const { return sums_[index]; }

 private:
  static Interval Exponent(const GridVariance& variance) {
    return -(Interval::Of(1.0, kPrecision) / Interval::Of(variance, kPrecision));
  }
  static void Accumulate(Interval& sum, const Interval& term) {
    mpfr_add(sum.lower().get(), sum.lower().get(), term.lower().get(), MPFR_RNDD);
    mpfr_add(sum.upper().get(), sum.upper().get(), term.upper().get(), MPFR_RNDU);
  }
  // Both are positive.
  static void Scale(Interval& value, const Interval& by) {
    mpfr_mul(value.lower().get(), value.lower().get(), by.lower().get(), MPFR_RNDD);
    mpfr_mul(value.upper().get(), value.upper().get(), by.upper().get(), MPFR_RNDU);
  }

  std::array<int64_t, 3> firsts_;
  Interval mass_;
  Interval ratio_;
  Interval factor_;
  std::vector<Interval> sums_;
};

// A threshold beyond this is as good as at this: nothing is summed there, the bound of the rest
// covers it.
int64_t Clamped(double k) {
  return static_cast<int64_t>(std::clamp(k, -kMaxSummedShift, kMaxSummedShift));
}

// P(X >= from) - e^eps P(X >= from + shift): a lower bound of the profile for any `from`.
Interval Threshold(const GridVariance& variance, int64_t from, int64_t shift, double epsilon) {
  const int64_t next = from + shift;
  // P(X >= k) = 1 - P(X >= 1 - k) for k <= 0.
  const auto mirrored = [](int64_t k) { return k > 0 ? k : 1 - k; };
  const TailSums sums(variance, {0, mirrored(from), mirrored(next)});
  const Interval one = Interval::Of(1.0, kPrecision);
  const Interval total = ShiftLeft(sums.From(0), 1) - one;
  const auto tail = [&](int64_t k, size_t index) {
    const Interval part = sums.From(index) / total;
    return k > 0 ? part : one - part;
  };
  return tail(from, 1) - Exp(Interval::Of(epsilon, kPrecision)) * tail(next, 2);
}

}  // namespace

Interval DiscreteGaussianProfile(const GridVariance& variance, double shift, double epsilon) {
  const Interval distance = Interval::Of(shift, kPrecision);
  const Interval cut =
      Interval::Of(epsilon, kPrecision) * Interval::Of(variance, kPrecision) / distance -
      ShiftLeft(distance, -1);
  // The best threshold is one of these two; one, unless `cut` straddles a whole number.
  const int64_t first = Clamped(std::floor(cut.LowerBound())) + 1;
  const int64_t second = Clamped(std::floor(cut.UpperBound())) + 1;
  const auto steps = static_cast<int64_t>(shift);
  Interval best = Positive(Threshold(variance, first, steps, epsilon));
  if (second != first) {
    const Interval other = Positive(Threshold(variance, second, steps, epsilon));
    mpfr_max(best.lower().get(), best.lower().get(), other.lower().get(), MPFR_RNDD);
    mpfr_max(best.upper().get(), best.upper().get(), other.upper().get(), MPFR_RNDU);
  }
  return best;
}

}  // namespace partita::privacy
