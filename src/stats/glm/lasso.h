// The lasso of generalised linear models in the clear: D(b) / 2 + sum of l_j |b_j| over the coefficients is
// least, D the deviance. As glmnet has it with l_j = n lambda, columns as they are and `standardize =
// FALSE`.
//
// Source  R. Tibshirani, JRSS B 1996; J. Friedman, T. Hastie, R. Tibshirani, "Regularization paths for
//         generalized linear models via coordinate descent", Journal of Statistical Software 2010; as
//         degrees of freedom the coefficients that are not 0: H. Zou, T. Hastie, R. Tibshirani, Annals
//         of Statistics 2007.
#pragma once

#include <Eigen/Core>

#include "stats/glm/sums.h"

namespace partita::stats::glm {

// Least of (t - from)' I (t - from) / 2 - U' (t - from) + sum of l_j |t_j|, by coordinate descent from
// `from`. A column without information stays as it is.
Eigen::VectorXd LassoPoint(const Eigen::MatrixXd& information, const Eigen::VectorXd& score,
                           const Eigen::VectorXd& from, const Eigen::VectorXd& penalty);

uint64_t NumSelected(const Eigen::VectorXd& point);  // that are not 0

// Of a family with a deviance; `count` rows, copies counted. Up to what is the same for all penalties:
// D + log(n) k, of a gaussian model n log(D / n) + log(n) k, for k coefficients that are not 0.
double LassoBic(const Law& law, double count, double deviance, uint64_t selected);

struct LassoFit {
  Eigen::VectorXd point;
  double deviance = 0;
  int iterations = 0;
  bool converged = false;
};
// By proximal Newton steps from 0, halved where the objective rose. Converged where a step is shorter than
// 1e-9 in the norm of the information, within 100 steps.
LassoFit FitLasso(const Law& law, const Rows& rows, const Limits& limits,
                  const Eigen::VectorXd& penalty);

}  // namespace partita::stats::glm
