#include "privacy/sampling/discrete_laplace.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "privacy/sampling/lazy_uniform.h"

namespace partita::privacy {
namespace {

constexpr UInt128 kMaxTerm = UInt128{1} << kMaxScaleBits;

// Multiples of t beyond this do not happen: probability e^-10000.
constexpr int kMaxMultiple = 10000;

// Whether Bernoulli(exp(-numerator / denominator)), numerator <= denominator: the first k at which
// a Bernoulli(numerator / (denominator k)) fails is odd. A trial with 1/k is drawn only if the one
// with numerator / denominator succeeded.
bool BernoulliExp(crypto::RandomSource& source, UInt128 numerator, UInt128 denominator) {
  uint64_t k = 1;
  while (ReadBelow(source, denominator) < numerator && ReadBelow(source, k) == 0) ++k;
  return k % 2 == 1;
}

}  // namespace

void CheckScale(const GridScale& scale) {
  if (scale.numerator == 0 || scale.denominator == 0 || scale.numerator >= kMaxTerm ||
      scale.denominator >= kMaxTerm) {
    throw Error(ErrorCode::kUsage, "the scale of the discrete Laplace noise is out of range",
                "use a positive fraction of integers below 2^112");
  }
}

GridScale ScaleOf(double grid_units) {
  if (!(grid_units >= 0x1p-59 && grid_units < 0x1p111)) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("the noise scale {} is not between 2^-59 and 2^111 grid units", grid_units),
        "change the number of fraction bits");
  }
  int exponent = 0;
  const double fraction = std::frexp(grid_units, &exponent);
  auto mantissa = static_cast<UInt128>(std::ldexp(fraction, 53));
  exponent -= 53;
  while ((mantissa & 1) == 0) {
    mantissa >>= 1;
    ++exponent;
  }
  const GridScale scale = {exponent > 0 ? mantissa << exponent : mantissa,
                           exponent < 0 ? UInt128{1} << -exponent : UInt128{1}};
  CheckScale(scale);
  return scale;
}

Int128 SampleGeometric(crypto::RandomSource& source, const GridScale& scale) {
  UInt128 remainder = 0;
  do {
    remainder = ReadBelow(source, scale.numerator);
  } while (!BernoulliExp(source, remainder, scale.numerator));
  UInt128 multiple = 0;
  while (BernoulliExp(source, 1, 1)) {
    if (++multiple > kMaxMultiple) {
      throw Error(ErrorCode::kInternal, "the random source repeats itself", "restart the node");
    }
  }
  return static_cast<Int128>((remainder + scale.numerator * multiple) / scale.denominator);
}

DiscreteLaplace::DiscreteLaplace(const GridScale& scale) : scale_(scale) { CheckScale(scale); }

Int128 DiscreteLaplace::Sample(crypto::RandomSource& source) const {
  while (true) {
    const bool negative = (ReadWord(source) & 1) != 0;
    const Int128 magnitude = SampleGeometric(source, scale_);
    if (magnitude != 0 || !negative) return negative ? -magnitude : magnitude;
  }
}

void DiscreteLaplace::Sample(crypto::RandomSource& source, std::span<Int128> out) const {
  for (Int128& value : out) value = Sample(source);
}

}  // namespace partita::privacy
