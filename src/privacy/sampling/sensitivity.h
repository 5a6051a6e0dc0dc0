// Epsilon, delta and sensitivities as types: a norm or a unit that is mixed up does not compile.
//
// Every constructor throws kUsage for NaN, infinities and values out of range. Sensitivities are
// UPPER bounds; arithmetic on them rounds up.
#pragma once

#include <cstddef>

#include "privacy/adjacency.h"

namespace partita::privacy {

// 0 <= epsilon < infinity.
class Epsilon {
 public:
  explicit Epsilon(double value);
  double value() const { return value_; }

 private:
  double value_;
};

// 0 < delta < 1. Pure differential privacy has functions of its own, not a delta of 0.
class Delta {
 public:
  explicit Delta(double value);
  double value() const { return value_; }

 private:
  double value_;
};

enum class Norm { kL1, kL2, kLinf };
// kReal: the units of the statistic. kGrid: multiples of 2^-f, the integers that are opened.
enum class Unit { kReal, kGrid };

// Throws kUsage unless 0 < value < infinity; returns it.
double CheckSensitivity(double value);

// Upper bound of the distance, in this norm and unit, between the statistics of two neighbours.
template <Norm kNorm, Unit kUnit>
class Sensitivity {
 public:
  explicit Sensitivity(double value) : value_(CheckSensitivity(value)) {}
  double value() const { return value_; }

 private:
  double value_;
};

using L1Sensitivity = Sensitivity<Norm::kL1, Unit::kReal>;
using L2Sensitivity = Sensitivity<Norm::kL2, Unit::kReal>;
using LinfSensitivity = Sensitivity<Norm::kLinf, Unit::kReal>;
using GridL1Sensitivity = Sensitivity<Norm::kL1, Unit::kGrid>;
using GridL2Sensitivity = Sensitivity<Norm::kL2, Unit::kGrid>;
using GridLinfSensitivity = Sensitivity<Norm::kLinf, Unit::kGrid>;

// The sensitivity of what is computed on the grid, when each of `dimension` coordinates of each of
// the two neighbours differs from the exact statistic by at most error_grid_units (rounding,
// truncation in fixed point: 0.5 for one rounding to nearest, the number of rows times 0.5 if every
// row is rounded, unless the integer rows themselves are bounded (clipping.h), which needs no error
// term):
//   L2:   2^f value + 2 error sqrt(dimension)
//   L1:   2^f value + 2 error dimension
//   Linf: 2^f value + 2 error
// fraction_bits: 0 to 125. Rounded up. Throws kUsage for a negative or non-finite error.
GridL1Sensitivity ToGrid(L1Sensitivity exact, int fraction_bits, size_t dimension,
                         double error_grid_units);
GridL2Sensitivity ToGrid(L2Sensitivity exact, int fraction_bits, size_t dimension,
                         double error_grid_units);
GridLinfSensitivity ToGrid(LinfSensitivity exact, int fraction_bits, size_t dimension,
                           double error_grid_units);

// Sensitivity of a sum of rows of norm at most `bound`: bound under add/remove, 2 bound under
// replace.
L2Sensitivity SumSensitivity(L2Sensitivity bound, Adjacency adjacency);
L1Sensitivity SumSensitivity(L1Sensitivity bound, Adjacency adjacency);

}  // namespace partita::privacy
