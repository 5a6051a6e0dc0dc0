#include "privacy/sampling/grid_variance.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "privacy/sampling/interval.h"

namespace partita::privacy {
namespace {

constexpr char kScaleHint[] = "use a standard deviation between 2^-30 and 2^100 grid units";

UInt128 Gcd(UInt128 a, UInt128 b) {
  while (b != 0) {
    const UInt128 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

bool ProductOverflows(UInt128 a, UInt128 b) { return b != 0 && a > ~UInt128{0} / b; }

// Moves factors of two into the exponent, so that as much as possible fits.
GridVariance Reduced(GridVariance variance) {
  while (variance.numerator != 0 && (variance.numerator & 1) == 0) {
    variance.numerator >>= 1;
    ++variance.exponent;
  }
  while (variance.denominator != 0 && (variance.denominator & 1) == 0) {
    variance.denominator >>= 1;
    --variance.exponent;
  }
  const UInt128 common = Gcd(variance.numerator, variance.denominator);
  if (common > 1) {
    variance.numerator /= common;
    variance.denominator /= common;
  }
  return variance;
}

}  // namespace

void CheckVariance(const GridVariance& variance) {
  if (variance.numerator == 0 || variance.denominator == 0) {
    throw Error(ErrorCode::kUsage, "the noise variance is not a positive number", kScaleHint);
  }
  // Far exponents would leave the range of what follows.
  const bool sane = std::abs(variance.exponent) < 1000;
  const double stddev = sane ? StddevUpperBound(variance) : 0;
  if (!sane || stddev < std::ldexp(1.0, kMinLog2Stddev) ||
      StddevLowerBound(variance) > std::ldexp(1.0, kMaxLog2Stddev)) {
    throw Error(ErrorCode::kUsage, "the noise variance is out of range", kScaleHint);
  }
}

GridVariance VarianceOfStddev(double stddev_grid_units) {
  if (!std::isfinite(stddev_grid_units) || stddev_grid_units <= 0) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("the noise standard deviation {} is not a positive number", stddev_grid_units),
        kScaleHint);
  }
  int exponent = 0;
  const double fraction = std::frexp(stddev_grid_units, &exponent);
  const auto mantissa = static_cast<UInt128>(std::ldexp(fraction, 53));
  const GridVariance variance = Reduced({mantissa * mantissa, 1, 2 * (exponent - 53)});
  CheckVariance(variance);
  return variance;
}

GridVariance Divide(const GridVariance& variance, uint64_t parts) {
  CheckVariance(variance);
  if (parts == 0) throw Error(ErrorCode::kUsage, "a variance cannot be divided by 0");
  GridVariance out = Reduced(variance);
  UInt128 divisor = parts;
  const UInt128 common = Gcd(out.numerator, divisor);
  out.numerator /= common;
  divisor /= common;
  if (ProductOverflows(out.denominator, divisor)) {
    throw Error(ErrorCode::kUsage, "the share of the noise variance does not fit 128 bits",
                "use a variance with a smaller denominator");
  }
  out.denominator *= divisor;
  out = Reduced(out);
  CheckVariance(out);
  return out;
}

GridVariance Multiply(const GridVariance& variance, uint64_t factor) {
  CheckVariance(variance);
  if (factor == 0) throw Error(ErrorCode::kUsage, "a variance cannot be multiplied by 0");
  GridVariance out = Reduced(variance);
  UInt128 multiplier = factor;
  while ((multiplier & 1) == 0) {
    multiplier >>= 1;
    ++out.exponent;
  }
  const UInt128 common = Gcd(out.denominator, multiplier);
  out.denominator /= common;
  multiplier /= common;
  if (ProductOverflows(out.numerator, multiplier)) {
    throw Error(ErrorCode::kUsage, "the noise variance does not fit 128 bits",
                "use a variance with a smaller numerator");
  }
  out.numerator *= multiplier;
  out = Reduced(out);
  CheckVariance(out);
  return out;
}

double StddevLowerBound(const GridVariance& variance) {
  return Sqrt(PreciseInterval::Of(variance)).LowerBound();
}

double StddevUpperBound(const GridVariance& variance) {
  return Sqrt(PreciseInterval::Of(variance)).UpperBound();
}

}  // namespace partita::privacy
