// Standard errors that hold whatever the variance of the outcome is, and where rows of a cluster
// depend on each other: I^-1 M I^-1 with the meat M of what rows, or clusters, add to the score.
//
//   rows      M = sum of (w_i s_i)^2 x_i x_i', of copies w_i s_i^2 x_i x_i'
//   clusters  M = sum of g_c g_c',  g_c the sum of w_i s_i x_i over the cluster's rows
//
// s x is a row's derivative of the log-likelihood (row_scores.h), of families with more parameters of as
// many numbers. Of negative binomial models M is of the coefficients at theta, as R's sandwich has it: log
// theta keeps its information, and so the standard error of the model.
//
// H. White, Econometrica 48 (1980), eq. 7; K.-Y. Liang, S. L. Zeger, Biometrika 73 (1986), eq. 11,
// with independence as the working correlation. By Cauchy and Schwarz g_c g_c' is at most P_c times
// the cluster's information, P_c its Pearson sum, so that M is at most the largest P_c times I.
#pragma once

#include "stats/glm/sums.h"

namespace partita::stats::glm {

struct Meat {
  Eigen::MatrixXd meat;  // p x p
  // Rows or clusters with a Pearson sum above most_pearson; they are left out.
  uint64_t outside = 0;
};
Meat MeatAt(const Law& law, const Rows& rows, const Eigen::VectorXd& point, const Limits& limits,
            double most_pearson = kMostPearson);

// I^-1 M I^-1, and the roots of its diagonal.
Eigen::MatrixXd SandwichCovariance(const Eigen::MatrixXd& information, const Eigen::MatrixXd& meat);
Eigen::VectorXd SandwichErrors(const Eigen::MatrixXd& information, const Eigen::MatrixXd& meat);

// Different numbers among rows.clusters.
uint64_t NumClusters(const Rows& rows);

}  // namespace partita::stats::glm
