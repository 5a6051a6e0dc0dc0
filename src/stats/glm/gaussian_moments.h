// What rows of a gaussian model add up to at any point follows from their sums and products: score X'(y - Xb),
// information X'X and deviance |y - Xb|^2. Of values on a grid the products are whole numbers, and so are score and
// deviance at a point on a grid: they are computed exactly and rounded at the end, so that nothing cancels.
//
// P. McCullagh, J. A. Nelder, "Generalized Linear Models", 2nd ed., 1989, 2.2.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "base/int128.h"
#include "stats/glm/sums.h"

namespace partita::stats::glm {

// Of points: after the point, and the largest magnitude.
inline constexpr int kPointBits = 40;

struct GaussianMoments {
  int bits = 0;     // of values in [-1, 1] on the grid 2^-bits
  Int128 rows = 0;  // copies counted
  // Sums of products at 2 bits after the point, p + 1 x p + 1, symmetric: of the columns, and last the outcome.
  std::vector<Int128> products;

  size_t num_columns() const;
};

// Of no rows.
GaussianMoments NoMoments(size_t num_columns, int bits);
// Rounds columns and outcomes to the grid, half away from zero.
void RoundRows(Rows& rows, int bits);
// Of rows on the grid, with weights that are copies or none, and no offset.
GaussianMoments MomentsOf(const Rows& rows, size_t num_columns, int bits);
// Of a model of some of the columns.
GaussianMoments MomentsOfColumns(const GaussianMoments& moments, std::span<const size_t> columns);

// point: multiples of 2^-kPointBits of at most 2^20. Pearson's sum is the deviance. Which row's predictor is beyond limits
// sums do not show: where the deviance is above `most` for every row, all rows count as outside.
PointSums SumsAt(const GaussianMoments& moments, const Eigen::VectorXd& point, double most);
// weighted: X'y, which is the information times the rows' own estimates.
FirstSums FirstSumsOf(const GaussianMoments& moments);

double SumOfSquares(const GaussianMoments& moments);  // of the outcome
// Of the outcome, where the first column is ones.
double SumOfOutcome(const GaussianMoments& moments);

}  // namespace partita::stats::glm
