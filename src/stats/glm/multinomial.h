// Multinomial logistic regression, as nnet's multinom: with classes 0 .. K - 1 of the outcome the
// log-odds of class k against class 0 are x'b_k (A. Agresti, "Categorical Data Analysis", 2nd ed., 2002,
// section 7.1).
//
// A point has b_1, b_2, .. b_(K-1), one below the other. The link is canonical: score X'(y_k - mu_k) and
// information X' diag(mu_k (1[k = l] - mu_l)) X. deviance is -2 log-likelihood. Offsets take no part. A row
// of which a linear predictor is beyond the limits counts as there.
#pragma once

#include "stats/glm/row_scores.h"

namespace partita::stats::glm {

// y: classes. point: p (K - 1).
PointSums MultinomialSums(const Law& law, const Rows& rows, const Eigen::VectorXd& point,
                          const Limits& limits);

// P of a row is 1 / mu - 1, mu the probability of its class.
RowScore MultinomialScore(const Law& law, const Rows& rows, const Eigen::VectorXd& point,
                          const Limits& limits);

}  // namespace partita::stats::glm
