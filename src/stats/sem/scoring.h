// Fisher scoring with a fixed number of steps: what protocol `sealed` does on shares, in the clear.
//
// Every step solves I(x) d = gradient(x) and goes to x - d, x - d/2 or x - d/8, the first of them
// that lowers the discrepancy, or stays. I is the expected information, whose steps come near from
// public starts, and in the last steps the observed one, which converges quadratically: with
// incomplete rows scoring is linear, as is an EM, which takes the same inverses (Lange 1995) at the
// rate of the information that is missing. The samples of incomplete rows are those of their
// patterns, so that the fixed point is the full-information estimate.
//
// Steps by the expected information take the rough inverse that a sealed fit takes, so that both go
// the same way.
#pragma once

#include <Eigen/Core>
#include <cstddef>

#include "stats/sem/objective.h"

namespace partita::stats {

struct ScoringSteps {
  std::size_t expected = 30;
  std::size_t observed = 0;  // after them
};

struct ScoringEnd {
  Eigen::VectorXd x;
  double value = 0;  // Discrepancy at x
  // Largest |gradient| / sqrt(information): times sqrt(n), standard errors from the minimum.
  double scaled_gradient = 0;
};

// start: where the discrepancy is finite. A step by an observed information that is not positive
// definite, or beyond 8 in units of the expected one's diagonal, stays. Throws kInternal for a
// start that is no covariance.
ScoringEnd ScoreSteps(const SemObjective& objective, const Eigen::VectorXd& start,
                      const ScoringSteps& steps);

}  // namespace partita::stats
