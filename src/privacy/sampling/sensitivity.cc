#include "privacy/sampling/sensitivity.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "privacy/sampling/interval.h"

namespace partita::privacy {
namespace {

void CheckGrid(int fraction_bits, size_t dimension, double error_grid_units) {
  if (fraction_bits < 0 || fraction_bits > 125 || dimension == 0) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("{} fraction bits or dimension {} make no grid", fraction_bits, dimension),
        "use 0 to 125 fraction bits and at least one coordinate");
  }
  if (!std::isfinite(error_grid_units) || error_grid_units < 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the rounding error {} is not a number of grid units that is 0 or more",
                            error_grid_units));
  }
}

// 2^f value + 2 error spread.
double OnGrid(double value, int fraction_bits, double error, const PreciseInterval& spread) {
  return (ShiftLeft(PreciseInterval::Of(value), fraction_bits) +
          ShiftLeft(PreciseInterval::Of(error) * spread, 1))
      .UpperBound();
}

PreciseInterval Count(size_t dimension) { return PreciseInterval::Of(UInt128{dimension}); }

double Times(double value, Adjacency adjacency) {
  return adjacency == Adjacency::kReplace ? 2 * value : value;
}

}  // namespace

Epsilon::Epsilon(double value) : value_(value) {
  if (!std::isfinite(value) || value < 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("epsilon {} is not a number that is 0 or more", value),
                "epsilon is finite and at least 0; values of 0.1 to 10 are usual");
  }
}

Delta::Delta(double value) : value_(value) {
  if (!(value > 0 && value < 1)) {
    throw Error(ErrorCode::kUsage, fmt::format("delta {} is not between 0 and 1", value),
                "delta is above 0 and well below 1 / number of rows, such as 1e-6");
  }
}

double CheckSensitivity(double value) {
  if (!std::isfinite(value) || value <= 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the sensitivity {} is not a positive number", value),
                "bound the data first: a sensitivity follows from public bounds");
  }
  return value;
}

GridL1Sensitivity ToGrid(L1Sensitivity exact, int fraction_bits, size_t dimension,
                         double error_grid_units) {
  CheckGrid(fraction_bits, dimension, error_grid_units);
  return GridL1Sensitivity(
      OnGrid(exact.value(), fraction_bits, error_grid_units, Count(dimension)));
}

GridL2Sensitivity ToGrid(L2Sensitivity exact, int fraction_bits, size_t dimension,
                         double error_grid_units) {
  CheckGrid(fraction_bits, dimension, error_grid_units);
  return GridL2Sensitivity(
      OnGrid(exact.value(), fraction_bits, error_grid_units, Sqrt(Count(dimension))));
}

GridLinfSensitivity ToGrid(LinfSensitivity exact, int fraction_bits, size_t dimension,
                           double error_grid_units) {
  CheckGrid(fraction_bits, dimension, error_grid_units);
  return GridLinfSensitivity(OnGrid(exact.value(), fraction_bits, error_grid_units, Count(1)));
}

L2Sensitivity SumSensitivity(L2Sensitivity bound, Adjacency adjacency) {
  return L2Sensitivity(Times(bound.value(), adjacency));
}

L1Sensitivity SumSensitivity(L1Sensitivity bound, Adjacency adjacency) {
  return L1Sensitivity(Times(bound.value(), adjacency));
}

}  // namespace partita::privacy
