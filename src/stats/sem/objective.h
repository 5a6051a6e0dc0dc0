// The maximum-likelihood discrepancy of a RAM model, with exact first and second derivatives.
//
//   F(x) = 1/2 sum_g (n_g/N) [ log|Sigma_g| + tr(S_g Sigma_g^-1) - log|S_g| - p
//                              + (ybar_g - mu_g)' Sigma_g^-1 (ybar_g - mu_g) ]
//
// (the last term only with a mean structure) is lavaan's fmin: chi-square = 2 N F, and N F is minus
// the log-likelihood up to a constant. Derivatives: every cell moves Sigma by a matrix of rank two,
// so with W = L^-1 F B, C = L^-1 F B S B' (B = (I-A)^-1, Sigma = L L') each entry of gradient,
// expected information and Hessian is a handful of products of Gram matrices of (W, C): O(1) per
// pair of cells after O(p v^2), v variables. Bollen (1989), chapter 4; the second derivatives
// differentiate B once more and were checked against differences of the gradient.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "stats/sem/moments.h"
#include "stats/sem/ram.h"

namespace partita::stats {

// Borrowed, not owned. One sample for each group; or several, one for each pattern of observed
// variables, when the sum is the full-information discrepancy (fiml.h).
struct SemObjective {
  const RamModel& model;
  const std::vector<GroupSample>& samples;
};

// +infinity where a Sigma is not positive definite or I - A is singular.
double Discrepancy(const SemObjective& objective, const Eigen::VectorXd& x);

// The discrepancy with its gradient (unspecified where the value is infinite).
double DiscrepancyWithGradient(const SemObjective& objective, const Eigen::VectorXd& x,
                               Eigen::VectorXd& gradient);

// Expected value of the Hessian of F if the model is true (the information of one observation), or
// the Hessian itself. Throws kInternal where F is infinite.
Eigen::MatrixXd ExpectedInformation(const SemObjective& objective, const Eigen::VectorXd& x);
Eigen::MatrixXd ObservedInformation(const SemObjective& objective, const Eigen::VectorXd& x);

// Moments that the model implies at x, per group, internal units.
struct ImpliedMoments {
  Eigen::MatrixXd covariance;  // of all variables: B S B'
  Eigen::VectorXd mean;        // of all variables: B M
};
std::vector<ImpliedMoments> Imply(const RamModel& model, const Eigen::VectorXd& x);

}  // namespace partita::stats
