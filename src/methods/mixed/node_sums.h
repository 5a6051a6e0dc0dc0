// What holders add up at the points of the ladder, on shares, and between two of them.
//
// Rows      Of the sums of stats/mixed at a lambda: the upper triangle of A, a, y' V^-1 y, log |V|; then
//           the derivatives of these by the logarithm of lambda times the ladder's step. A column for
//           each lambda. All of it over the number of rows, which is secret.
// Between   Cubic Hermite interpolation of each sum, in w from 0 to 1, and its derivative, which is what
//           the interpolated criterion's slope is made of. With steps of h = log(2) / 8 the sums are
//           within h^4 / 384 / 8 = 2e-8 of themselves, as weights of groups are logistic functions of
//           log lambda.
// Error     2^-58 of each sum beside that; of the division by the rows 2^-40 of all alike, which cancels.
// Cost      One input of 2 NumSums x lambdas; Reciprocal of two numbers and a cut; a product and its cut.
//           SumsBetween: three products.
// Revealed  Nothing.
#pragma once

#include "methods/mixed/counts.h"

namespace partita::methods::mixed {

inline constexpr int kMeanBits = 60, kWeightBits = 40;
inline constexpr double kMostMean = 16;  // of log |V|; of the others 1

size_t NumSums(size_t columns);

// 1 / n and 1 / nu, of the rows n and of nu = n - p, of ML n; at kWeightBits + row_bits. nu / n, at
// kWeightBits.
struct RowInverses {
  mpc::Shared of_rows, of_freedom, freedom_share;
};
RowInverses InvertRows(mpc::Engine& engine, const Task& task, const mpc::Shared& rows);

// own: at a holder; not used elsewhere.
mpc::Shared ShareMeans(mpc::Engine& engine, const Task& task, const OwnData& own,
                       const RowInverses& inverses);

// rows rows, all of them that of value, a single one.
mpc::Shared OverRows(mpc::Engine& engine, const mpc::Shared& value, size_t rows);

// ends: two columns of ShareMeans. w: 1 x 1 at kWeightBits. One column.
mpc::Shared SumsBetween(mpc::Engine& engine, const mpc::Shared& ends, const mpc::Shared& w);

}  // namespace partita::methods::mixed
