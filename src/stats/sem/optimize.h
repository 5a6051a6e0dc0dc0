// Minimises the maximum-likelihood discrepancy, subject to equality constraints.
//
// NLopt's SLSQP (Kraft 1988) finds the neighbourhood of the minimum; Fisher scoring with step
// halving (Newton steps where the Hessian is positive definite on the constraints' tangent space)
// takes it to machine precision. Both work on the constraint manifold.
#pragma once

#include <Eigen/Core>
#include <string>

#include "base/progress.h"
#include "stats/sem/constraints.h"
#include "stats/sem/objective.h"

namespace partita::stats {

struct OptimizeOptions {
  int max_iterations = 1000;
  double target = 1e-10;     // of the scaled gradient: stop there,
  double acceptable = 1e-8;  // or here if rounding allows no further step
};

struct Optimum {
  Eigen::VectorXd x;
  double value = 0;
  // Largest |component of the gradient projected on the constraints| / sqrt(information), per
  // observation: times sqrt(N) it is the distance to the optimum in standard errors.
  double scaled_gradient = 0;
  int iterations = 0;
  bool converged = false;
  std::string reason;  // why not, in words
};

// start: where Sigma is positive definite (otherwise not converged, with that reason).
Optimum Minimize(const SemObjective& objective, const ModelExpressions& expressions,
                 const Eigen::VectorXd& start, const OptimizeOptions& options, Progress& progress);

}  // namespace partita::stats
