#include "privacy/sampling/gaussian_profile.h"

namespace partita::privacy {
namespace {

constexpr mpfr_prec_t kMaxPrecision = 1 << 14;

Interval Widened(const Interval& value, mpfr_prec_t precision) {
  return value + Interval(precision);
}

Interval ProfileAt(const Interval& sensitivity, const Interval& stddev, double epsilon,
                   mpfr_prec_t precision) {
  const Interval ratio = Widened(sensitivity, precision) / Widened(stddev, precision);
  const Interval eps = Interval::Of(epsilon, precision);
  const Interval near = ShiftLeft(ratio, -1);
  const Interval far = eps / ratio;
  return Positive(NormalCdf(near - far) - Exp(eps) * NormalCdf(-near - far));
}

// Smaller than this nobody can tell from the smallest double, to which the upper end rounds.
constexpr mpfr_exp_t kTinyExponent = -1100;

bool IsNarrow(const Interval& value) {
  if (mpfr_zero_p(value.upper().get()) != 0 || mpfr_get_exp(value.upper().get()) < kTinyExponent) {
    return true;
  }
  Real width(64);
  Real bound(64);
  mpfr_sub(width.get(), value.upper().get(), value.lower().get(), MPFR_RNDU);
  mpfr_mul_2si(bound.get(), value.upper().get(), -60, MPFR_RNDD);
  return mpfr_lessequal_p(width.get(), bound.get()) != 0;
}

}  // namespace

Interval GaussianProfile(const Interval& sensitivity, const Interval& stddev, double epsilon) {
  mpfr_prec_t precision = kDefaultPrecision;
  while (true) {
    Interval value = ProfileAt(sensitivity, stddev, epsilon, precision);
    if (IsNarrow(value) || precision >= kMaxPrecision) return value;
    precision *= 4;
  }
}

}  // namespace partita::privacy
