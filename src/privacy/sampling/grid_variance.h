// The exact scale of noise on the integer grid.
//
// Noise is drawn on the grid of the fixed-point number that is opened: with f fraction bits one
// grid unit is 2^-f. A scale is an exact rational, so that "the discrete Gaussian of this variance"
// names one distribution and not a neighbourhood of it.
#pragma once

#include <cstdint>
#include <string>

#include "base/int128.h"

namespace partita::privacy {

// numerator / denominator * 2^exponent, in squared grid units. It is the parameter sigma^2 of the
// law exp(-k^2 / (2 sigma^2)); the variance of a discrete Gaussian is slightly below its sigma^2.
struct GridVariance {
  UInt128 numerator = 0;
  UInt128 denominator = 1;
  int exponent = 0;

  bool operator==(const GridVariance&) const = default;
};

// Accepted scales: sigma between 2^-30 and 2^100 grid units.
constexpr int kMinLog2Stddev = -30;
constexpr int kMaxLog2Stddev = 100;

// Throws kUsage unless the variance is positive and within the accepted scales.
void CheckVariance(const GridVariance& variance);

// The exact square of a double. Throws kUsage for NaN, infinities, zero, negative and out-of-range.
GridVariance VarianceOfStddev(double stddev_grid_units);

// variance / parts, exactly. Throws kUsage if parts is 0 or the result does not fit 128-bit terms.
GridVariance Divide(const GridVariance& variance, uint64_t parts);
// variance * factor, exactly; the same errors.
GridVariance Multiply(const GridVariance& variance, uint64_t factor);

// Bounds of sigma in grid units, at most 2 units in the last place apart.
double StddevLowerBound(const GridVariance& variance);
double StddevUpperBound(const GridVariance& variance);

}  // namespace partita::privacy
