// Fisher scoring with a fixed number of steps: what protocol `sealed` does on shares, in the clear.
//
// Every step solves I(x) d = gradient(x) and goes to x - d, x - d/2 or x - d/8, the first of them
// that lowers the discrepancy, or stays. I is the expected information, whose steps come near from
// public starts, and after that the observed one where it is positive definite and near the
// expected one, which converges quadratically: scoring is linear, with incomplete rows as is an EM,
// which takes the same inverses (Lange 1995), at the rate of the information that is missing. The
// samples of incomplete rows are those of their patterns, so that the fixed point is the
// full-information estimate.
//
// The inverses are as rough as those of a sealed fit, so that both go the same way.
#pragma once

#include <Eigen/Core>
#include <cstddef>

#include "stats/sem/objective.h"

namespace partita::stats {

struct ScoringSteps {
  std::size_t expected = 2;
  std::size_t observed = 10;  // after them
};

struct ScoringEnd {
  Eigen::VectorXd x;
  double value = 0;  // Discrepancy at x
  // Largest |gradient| / sqrt(information): times sqrt(n), standard errors from the minimum.
  double scaled_gradient = 0;
};

// start: where the discrepancy is finite. Throws kInternal for a start that is no covariance.
ScoringEnd ScoreSteps(const SemObjective& objective, const Eigen::VectorXd& start,
                      const ScoringSteps& steps);

}  // namespace partita::stats
