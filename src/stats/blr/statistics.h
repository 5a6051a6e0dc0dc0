// Sufficient statistics of a linear regression on the integer grid: what every client contributes
// and what the sum means.
//
// One row contributes its scaled row z (design.h), rounded to kFractionBits by
// privacy/sampling/clipping.h, as the products z_i z_j, i <= j, row by row of the upper triangle,
// in grid units of 2^-kSumFractionBits. With an intercept the product of the ones is left out: n is
// public. The sum over rows is exact.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "base/int128.h"
#include "stats/blr/design.h"

namespace partita::stats::blr {

inline constexpr int kFractionBits = 24;
inline constexpr int kSumFractionBits = 2 * kFractionBits;

// The number of released entries.
size_t NumEntries(const Design& design);

// What one row adds. values: features, then the target, in raw units. out: NumEntries. Values
// beyond the bounds are clipped; whether one was is known to the owner of the row only. Throws
// kBadData for NaN or infinity, kBadInput for a row of another length.
void RowEntries(const Design& design, std::span<const double> values, std::span<Int128> out);

// The exact sum over rows; values: rows of equal length, one after the other.
std::vector<Int128> SumEntries(const Design& design, std::span<const double> values);

// The sums of squares of the scaled, box-clipped columns (the target last), on the same grid: what
// the marginal standard deviations are made of.
std::vector<Int128> SumSquares(const Design& design, std::span<const double> values);

// Sums as the estimation sees them, in scaled units.
struct Statistics {
  Eigen::MatrixXd gram;   // X'X, p x p, symmetric
  Eigen::VectorXd cross;  // X'y
  double target_square = 0;
  double num_rows = 0;
};
// Throws kInternal for another number of entries.
Statistics FromEntries(const Design& design, std::span<const Int128> entries, size_t num_rows);

}  // namespace partita::stats::blr
