#include "privacy/sampling/gaussian_profile.h"

namespace partita::privacy {
namespace {

constexpr mpfr_prec_t kMaxProfilePrecision = 1 << 14;
// MPFR's exponents hold e^epsilon up to 7e8: beyond, no precision would make the interval narrow.
constexpr double kLargestExponent = 0x1p28;

PreciseInterval Widened(const PreciseInterval& value, mpfr_prec_t precision) {
  return value + PreciseInterval(precision);
}

PreciseInterval ProfileAt(const PreciseInterval& sensitivity, const PreciseInterval& stddev,
                          double epsilon, mpfr_prec_t precision) {
  const PreciseInterval ratio = Widened(sensitivity, precision) / Widened(stddev, precision);
  const PreciseInterval eps = PreciseInterval::Of(epsilon, precision);
  const PreciseInterval near = ShiftLeft(ratio, -1);
  const PreciseInterval far = eps / ratio;
  return Positive(NormalCdf(near - far) - Exp(eps) * NormalCdf(-near - far));
}

// Smaller than this nobody can tell from the smallest double, to which the upper end rounds.
constexpr mpfr_exp_t kTinyExponent = -1100;

bool IsNarrow(const PreciseInterval& value) {
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

PreciseInterval GaussianProfile(const PreciseInterval& sensitivity, const PreciseInterval& stddev,
                                double epsilon) {
  if (epsilon > kLargestExponent) {  // delta falls
    PreciseInterval above = GaussianProfile(sensitivity, stddev, kLargestExponent);
    mpfr_set_zero(above.lower().get(), 1);
    return above;
  }
  mpfr_prec_t precision = kDefaultPrecision;
  while (true) {
    PreciseInterval value = ProfileAt(sensitivity, stddev, epsilon, precision);
    if (IsNarrow(value) || precision >= kMaxProfilePrecision) return value;
    precision *= 4;
  }
}

}  // namespace partita::privacy
