// The exact minimiser of a regularised empirical risk
//   J(w) = 1/N sum_i phi(y_i w'x_i) + (lambda + slack)/2 |w|^2 + noise'w / N
// (Rajkumar & Agarwal, eqs. (1), (3) and Algorithm 4; slack is their Delta). Newton's method with
// step halving; J is strongly convex, so it converges from anywhere.
#pragma once

#include <Eigen/Core>

#include "base/progress.h"
#include "stats/erm/loss.h"

namespace partita::stats::erm {

struct LabelledRows {
  Eigen::MatrixXd x;  // N by d
  Eigen::VectorXd y;  // N, each -1 or 1
};

// Throws kBadData for labels other than -1 and 1, values that are not finite or sizes that differ;
// kUsage for no rows.
void CheckRows(const LabelledRows& rows);

struct Objective {
  Loss loss;
  double lambda = 0;
  double slack = 0;
  Eigen::VectorXd noise;        // d entries, or none
  bool free_intercept = false;  // the last column of x is not penalised; never with privacy
};

struct Minimum {
  Eigen::VectorXd w;
  double value = 0;
  double gradient_norm = 0;  // of J
  int iterations = 0;
};

double ObjectiveValue(const LabelledRows& rows, const Objective& objective,
                      const Eigen::VectorXd& w);
Eigen::VectorXd ObjectiveGradient(const LabelledRows& rows, const Objective& objective,
                                  const Eigen::VectorXd& w);
Eigen::MatrixXd ObjectiveHessian(const LabelledRows& rows, const Objective& objective,
                                 const Eigen::VectorXd& w);

// sum_i phi'(y_i w'x_i) y_i x_i: eq. (8), what a party contributes to a step.
Eigen::VectorXd SumOfGradients(const LabelledRows& rows, const Loss& loss,
                               const Eigen::VectorXd& w);

struct MinimizeOptions {
  double gradient_norm = 1e-11;
  int max_iterations = 200;
};

// Throws as CheckRows; kNotConverged, with the norm that was reached, if the gradient stays longer
// than asked: without a penalty that means separable data.
Minimum Minimize(const LabelledRows& rows, const Objective& objective,
                 const MinimizeOptions& options = {});

// Standard errors of an unpenalised or lightly penalised maximum-likelihood fit without privacy:
// the inverse of the observed information N * Hessian, d by d.
Eigen::MatrixXd Covariance(const LabelledRows& rows, const Objective& objective,
                           const Eigen::VectorXd& w);

}  // namespace partita::stats::erm
