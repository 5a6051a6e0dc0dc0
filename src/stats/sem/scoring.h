// Fisher scoring with a fixed number of steps: what protocol `sealed` does on shares, in the clear.
//
// Every step solves I(x) d = gradient(x) with the expected information I and goes to x - d, x - d/2
// or x - d/8, the first of them that lowers the discrepancy, or stays. The samples of incomplete
// rows are those of their patterns, so that the fixed point is the full-information estimate:
// direct scoring instead of an EM, whose M-step would take the same inverses and which converges
// linearly at the rate of the information that is missing.
#pragma once

#include <Eigen/Core>
#include <cstddef>

#include "stats/sem/objective.h"

namespace partita::stats {

struct ScoringEnd {
  Eigen::VectorXd x;
  double value = 0;  // Discrepancy at x
  // Largest |gradient| / sqrt(information): times sqrt(n), standard errors from the minimum.
  double scaled_gradient = 0;
};

// start: where the discrepancy is finite. Throws kInternal otherwise.
ScoringEnd ScoreSteps(const SemObjective& objective, const Eigen::VectorXd& start,
                      std::size_t steps);

}  // namespace partita::stats
