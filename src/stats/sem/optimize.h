// Minimises the maximum-likelihood discrepancy, subject to equality constraints.
//
// Fisher scoring with step halving on the constraint manifold (Newton steps where the Hessian is
// positive definite on the tangent space) needs 5 to 20 steps from ordinary starts. NLopt's SLSQP
// (Kraft 1988) may go first, for starts too far away for scoring; scoring then finishes to machine
// precision.
#pragma once

#include <Eigen/Core>
#include <string>

#include "base/progress.h"
#include "stats/sem/constraints.h"
#include "stats/sem/objective.h"
#include "stats/sem/stop_reason.h"

namespace partita::stats {

struct OptimizeOptions {
  bool slsqp_first = false;
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
  StopReason stop = StopReason::kConverged;  // why not,
  std::string reason;                        // and in words
};

// start: where Sigma is positive definite (otherwise not converged, with that reason).
Optimum Minimize(const SemObjective& objective, const ModelExpressions& expressions,
                 const Eigen::VectorXd& start, const OptimizeOptions& options, Progress& progress);

}  // namespace partita::stats
