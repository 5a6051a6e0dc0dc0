// What the public parameters say about every component, computed once per iteration: densities and
// scores of a feature set as affine functions of its fixed statistics T(x) (features.h).
//
// Priors (paper, Section 6.1): Dirichlet(1) on pi and on categorical probabilities, held by logits
// that are logs of independent Gamma(1,1) weights, log p(z) = z - exp(z), which is proper in the
// direction that shifts all; Gamma(1,1) on everything that is softplus(z), log p(z) = log s(z) +
// log s(-z) with the logistic function s; Beta(1,1) on Bernoulli probabilities, the same density of
// the logit; N(0,1) on Gaussian means.
#pragma once

#include <Eigen/Core>

#include "stats/mixture/features.h"

namespace partita::stats::mixture {

// K components, J statistics.
struct Components {
  // log F_k(x) = sum_j natural_kj T_j(x) - log_normaliser_k + log h(x)
  Eigen::ArrayXXd natural;
  Eigen::ArrayXd log_normaliser;
  // The score with respect to parameter j, the public Jacobian included:
  //   d_kj(x) = slope_kj T_j(x) + below_kj T_{j-1}(x) + offset_kj
  // `below` is not zero for precisions of Gaussian features only (`has_below`).
  Eigen::ArrayXXd slope, below, offset;
  bool has_below = false;
  // Categorical columns: ||d_k||^2 of the feature at this level, 1 - 2 p_kl + sum_m p_km^2.
  Eigen::ArrayXXd level_square;
};

// rho: K x J. Softplus parameters are at least 1e-10. Throws kUsage for another shape, kBadInput
// for parameters that are not finite.
Components MakeComponents(const Layout& layout, const Eigen::ArrayXXd& rho);

// softmax of a column of logits, and its logarithm.
Eigen::ArrayXd LogSoftmax(const Eigen::ArrayXd& logits);

// theta: K x (1 + J). Of the unconstrained parameters, without its constant for Gaussian means.
double LogPrior(const Layout& layout, const Eigen::ArrayXXd& theta);
// Its derivative, K x (1 + J).
Eigen::ArrayXXd LogPriorGradient(const Layout& layout, const Eigen::ArrayXXd& theta);

// log(1 + e^z), at least 1e-10: rates and precisions are never 0.
double Softplus(double z);

}  // namespace partita::stats::mixture
