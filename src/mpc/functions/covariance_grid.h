// Covariances of estimates on the grids of these, rounded on shares (release_grid.h): V_ij in steps of
// 2^(e_i + e_j), e the exponents of the estimates' grids.
//
// Range       A standard error is between 2^bits and 2^(bits + 1) steps of its grid, so that multiples
//             on the diagonal are in [2^(2 bits), 2^(2 bits + 2)), and all others less than that in
//             magnitude: at most CovarianceNumberBits(bits) bits each.
// Precision   Half a step of each: a correlation is known to 2^-(2 bits + 1) at worst. Of a combination
//             a' V a half of (sum of |a_i| 2^e_i)^2: little, unless what is added up all but cancels.
// Order       The lower triangle by rows: (0, 0), (1, 0), (1, 1), (2, 0), ...
// Cost        A product of p (p + 1) / 2 numbers, beside RoundToGrids.
// Timing      constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
// Revealed    Nothing.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mpc/functions/release_grid.h"

namespace partita::mpc {

inline size_t NumCovariances(size_t columns) { return columns * (columns + 1) / 2; }
inline int CovarianceNumberBits(int grid_bits) { return 2 * grid_bits + 3; }

// For RoundToGrids: in steps of the grid of the row, to be rounded to that of the column. covariances: p x
// p, squared standard errors on the diagonal, at most twice kMostVariance; marks: of the estimates.
GridNumbers CovariancesOfRows(Engine& engine, const Shared& covariances, const GridMarks& marks,
                              int grid_bits);

// Of what opened: p x p by rows, in units; 0 where a grid was not reached. steps: of the estimates'. Throws
// NoSuchOpening for a number without a grid.
std::vector<double> InSquaredSteps(const IntMatrix& numbers, std::span<const double> steps);
// Whether all variances are above 0. Else there is no fit: a variance was below every grid, or it is of a few last
// places, of which the grid is that of one cut and the number that of another.
bool HasVariances(std::span<const double> matrix, size_t columns);

}  // namespace partita::mpc
