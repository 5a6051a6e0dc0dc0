// The second node of `conditional` solves for the rows of the first (methods.md 0, item 2).
//
// The total of node 1 is e W e' summed over rows, e = d - P, d = x - mu, W = S^-1. At one theta it
// is linear in things that do not change,
//   total = sum d W d' - 2 <P, d W> + <W, P' P>,
// and node 2 is told P. With as many questions as there are unknowns, n p + p (p + 1) / 2 + 1, it
// has d W and W, and so d. Uniform masks modulo 2^128 do not help: the equations are exact there.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "methods/mle/published/numbers.h"

namespace partita::methods::mle::published {

// What node 2 was told at each question.
template <typename T>
struct ToldTotals {
  std::vector<Matrix<T>> p;
  std::vector<T> totals;
};

// Questions needed for n rows of p columns. Modulo 2^128 a few more, so that the equations can be
// solved with probability above 1 - 2^-38.
Eigen::Index QuestionsForRows(Eigen::Index n, Eigen::Index p);
inline constexpr Eigen::Index kSpareQuestions = 40;

struct SolvedRows {
  bool solved = false;
  Eigen::MatrixXd deviations;  // d, in the units of the rows
};
SolvedRows SolveRows(const ToldTotals<double>& told);
SolvedRows SolveRows(const ToldTotals<UInt128>& told);

// Of one column at a time: the smallest correlation, and the largest root mean square error over
// the standard deviation.
struct RowAccuracy {
  double min_correlation = 0, error_over_deviation = 0;
};
RowAccuracy CompareRows(const Eigen::MatrixXd& found, const Eigen::MatrixXd& truth);

}  // namespace partita::methods::mle::published
