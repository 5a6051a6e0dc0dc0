// Logistic and Poisson models with a random intercept in the clear: the likelihood of groups by Laplace's
// approximation, as R's lme4 has it (glmer, nAGQ = 1), and its derivatives. Groups add up.
//
// Model      log f(y | eta_j + a), a normal with variance tau^2, eta = X b. Outcomes are 0 or 1 by the logit
//            (binomial), or counts by the log (Poisson).
// Group      At the mode a = tau^2 s, with residuals r = y - mu, s = sum r, W = sum w, v = 1 + tau^2 W:
//
//              l = sum log f - tau^2 s^2 / 2 - log(v) / 2
//
// Score      By b and tau, of l itself (a moves with them), with D = sum w', w' the derivative of w:
//
//              X'r - tau^2 (X'w' - tau^2 D X'w / v) / (2 v)
//              2 tau times the slope by tau^2:  s^2 / 2 - (W + tau^2 D s / v) / (2 v)
//
// Expected   information: the covariance of X'r - tau^2 X'w s / v and (s^2 / v^2 - W / v) / 2 where r has the cumulants
//            w, w', K of the family and s the random intercept's variance beside: with c = X'w' - tau^2 X'w D / v
//
//              X'diag(w) X - tau^2 X'w w'X / v     tau c / v^2     2 tau^2 W^2 / v^2 + tau^2 K / v^4
//
//            It is never indefinite; without c and K steps swing where groups are small.
// Observed   information: minus the derivative of the score, by differences of it, as lme4 has its standard
//            errors.
//
// Sources    D. Bates, M. Maechler, B. Bolker, S. Walker, J. Statistical Software 67 (2015), and lme4's
//            vignette of theory; N. Breslow, D. Clayton, JASA 88 (1993).
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "stats/glm/family.h"

namespace partita::stats::mixed {

// Rows of a group stand together.
struct GroupedRows {
  Eigen::MatrixXd x;
  Eigen::VectorXd y;
  std::vector<Eigen::Index> sizes;  // rows of each group
};

enum class Information { kExpected, kObserved };

// Of all groups. A point is b, then tau.
struct LaplaceSums {
  Eigen::VectorXd score;
  Eigen::MatrixXd information;
  double log_likelihood = 0;
  double slope = 0;      // by tau^2
  uint64_t outside = 0;  // rows whose predictor, with the mode, is beyond the limits

  LaplaceSums& operator+=(const LaplaceSums& other);
};
LaplaceSums LaplaceAt(const glm::Law& law, const GroupedRows& rows, const Eigen::VectorXd& point,
                      Information information, const glm::Limits& limits);

struct LaplaceFit {
  bool converged = false, singular = false;  // tau = 0, from where the likelihood falls
  Eigen::VectorXd point, standard_errors;    // b, tau; of a singular fit 0 for tau
  Eigen::MatrixXd covariance;                // of b, with what tau adds
  double log_likelihood = 0;
};
// By sites; the maximum to 1e-9 standard errors. No convergence where outcomes are separated, or the
// likelihood is flat.
LaplaceFit FitLaplace(const glm::Law& law, std::span<const GroupedRows> sites,
                      const glm::Limits& limits);

}  // namespace partita::stats::mixed
