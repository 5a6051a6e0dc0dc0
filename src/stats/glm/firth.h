// Firth's penalty of logistic models: the maximum of log-likelihood + log|I| / 2, which exists where
// outcomes are separated as well, and has a bias of smaller order (D. Firth, Biometrika 80 (1993); G. Heinze,
// M. Schemper, Statistics in Medicine 21 (2002); I. Kosmidis, D. Firth, Biometrika 96 (2009)), as R's
// logistf and brglm2.
//
// By b_j the penalty's derivative is half of tr(I^-1 dI/db_j), dI/db_j = X' diag(w (1 - 2 mu) x_j) X: so
// with I^-1 of all rows the third moments of working weights, which are sums over rows, are enough.
#pragma once

#include "stats/glm/fit.h"

namespace partita::stats::glm {

// p (p + 1) (p + 2) / 6: of every j <= k <= l, in this order of j, then k, then l.
size_t NumThirdMoments(size_t columns);
// Sums of w_i mu (1 - mu) (1 - 2 mu) x_j x_k x_l, of a logistic law.
Eigen::VectorXd ThirdMomentsAt(const Rows& rows, const Eigen::VectorXd& point,
                               const Limits& limits);

// What the penalty adds to the score: half of tr(I^-1 dI/db_j).
Eigen::VectorXd FirthScore(const Eigen::MatrixXd& information, const Eigen::VectorXd& third);

// The penalised maximum, by steps I^-1 (U + FirthScore), halved where the penalised log-likelihood falls.
// Converged as Maximise.
Maximum MaximiseFirth(const Law& law, const Rows& rows, const Limits& limits);

}  // namespace partita::stats::glm
