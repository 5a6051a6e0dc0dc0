#include "mpc/fixed_point.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace partita::mpc {
namespace {

void CheckFractionBits(int fraction_bits) {
  if (fraction_bits < 0 || fraction_bits > kMaxFractionBits) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} fraction bits asked for; fixed point has 0 to {}", fraction_bits,
                            kMaxFractionBits),
                "choose fewer fraction bits");
  }
}

}  // namespace

Int128 EncodeFixed(double x, int fraction_bits) {
  CheckFractionBits(fraction_bits);
  if (!std::isfinite(x)) {
    throw Error(ErrorCode::kBadInput, "a value to be shared is not a finite number",
                "look for missing values, NaN and infinities in the data");
  }
  // |x| = mantissa 2^(exponent - 53), mantissa an integer below 2^53.
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);
  const auto mantissa = static_cast<UInt128>(std::ldexp(fraction, 53));
  const int shift = exponent - 53 + fraction_bits;
  if (mantissa != 0 && exponent + fraction_bits > kMaxFractionBits) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("a value to be shared is too large for {} fraction bits", fraction_bits),
        "values must be below 2^(126 - fraction bits); check the bounds in the schema");
  }
  UInt128 magnitude = 0;
  if (shift >= 0) {
    magnitude = mantissa << shift;
  } else if (shift >= -54) {
    magnitude = (mantissa + (static_cast<UInt128>(1) << (-shift - 1))) >> -shift;
  }
  return std::signbit(x) ? -static_cast<Int128>(magnitude) : static_cast<Int128>(magnitude);
}

double DecodeFixed(Int128 value, int fraction_bits) {
  CheckFractionBits(fraction_bits);
  return std::ldexp(static_cast<double>(value), -fraction_bits);
}

}  // namespace partita::mpc
