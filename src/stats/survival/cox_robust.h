// Robust standard errors of Cox's model in the clear, as R's coxph(..., robust = TRUE) or cluster = ..: right for large
// samples also where hazards are not proportional.
//
// Source  D. Y. Lin, L. J. Wei, "The robust inference for the Cox proportional hazards model", JASA
//         1989; residuals: T. Therneau, P. Grambsch, T. Fleming, "Martingale-based residuals for
//         survival models", Biometrika 1990; by Efron as R's survival shares tied events out.
#pragma once

#include "stats/survival/cox.h"

namespace partita::stats::survival {

// n x p: what each row adds to the score, less what it was expected to add while it was at risk; R's
// residuals(fit, type = "score").
Eigen::MatrixXd CoxScoreResiduals(const CoxRows& rows, const Eigen::VectorXd& point, Ties ties);

// V = I^-1 (sum of L L') I^-1 over score residuals L, or over their sums by cluster; and b' V^-1 b, infinite where V is singular.
struct CoxRobust {
  Eigen::MatrixXd covariance;
  Eigen::VectorXd standard_errors;
  double wald_test = 0;
};
CoxRobust CoxRobustAt(const CoxRows& rows, const Eigen::VectorXd& point, Ties ties);

}  // namespace partita::stats::survival
