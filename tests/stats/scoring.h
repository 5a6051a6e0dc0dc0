// Fisher scoring with a fixed number of steps: what protocol `sealed` does on shares, in the clear.
//
// Every step solves I(x) d = gradient(x) and goes to x - d, x - d/2 or x - d/8, the first of them
// that lowers the discrepancy, or stays. I is the expected information, whose steps come near from
// public starts, and in the last steps the observed one, which converges quadratically: with
// incomplete rows scoring is linear, as is an EM, which takes the same inverses (Lange 1995) at the
// rate of the information that is missing. The samples of incomplete rows are those of their
// patterns, so that the fixed point is the full-information estimate.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "stats/sem/information.h"
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

namespace scoring {

inline constexpr std::array<double, 3> kStepSizes = {1, 0.5, 0.125};
// Near the minimum F falls by less than the full step may raise it by.
inline constexpr double kSlack = 0x1p-31;

// Of the observed information in units of the expected one's diagonal.
inline constexpr double kLargestObserved = 8, kSmallestPivot = 0x1p-17;

inline Eigen::VectorXd NewtonStep(const SemObjective& objective, const Eigen::VectorXd& x,
                                  const Eigen::VectorXd& gradient) {
  const Eigen::VectorXd scale =
      ExpectedInformation(objective, x).diagonal().cwiseSqrt().cwiseInverse();
  const Eigen::MatrixXd scaled =
      scale.asDiagonal() * ObservedInformation(objective, x) * scale.asDiagonal();
  const Eigen::LDLT<Eigen::MatrixXd> factor(scaled);
  if (scaled.cwiseAbs().maxCoeff() > kLargestObserved ||
      !(factor.vectorD().minCoeff() > kSmallestPivot)) {
    return Eigen::VectorXd::Zero(x.size());
  }
  return scale.cwiseProduct(factor.solve(scale.cwiseProduct(gradient)));
}

}  // namespace scoring

// start: where the discrepancy is finite. A step by an observed information that is not positive
// definite, or beyond 8 in units of the expected one's diagonal, stays. Throws kInternal for a
// start that is no covariance.
inline ScoringEnd ScoreSteps(const SemObjective& objective, const Eigen::VectorXd& start,
                             const ScoringSteps& steps) {
  ScoringEnd at{start, Discrepancy(objective, start), 0};
  Eigen::VectorXd gradient;
  for (std::size_t t = 0; t < steps.expected + steps.observed; ++t) {
    DiscrepancyWithGradient(objective, at.x, gradient);
    const Eigen::VectorXd step =
        t < steps.expected ? SolveSemidefinite(ExpectedInformation(objective, at.x), gradient)
                           : scoring::NewtonStep(objective, at.x, gradient);
    for (const double size : scoring::kStepSizes) {
      const Eigen::VectorXd tried = at.x - size * step;
      const double value = Discrepancy(objective, tried);
      if (!(value < at.value + (size == 1 ? scoring::kSlack : 0))) continue;
      at.x = tried;
      at.value = value;
      break;
    }
  }
  DiscrepancyWithGradient(objective, at.x, gradient);
  const Eigen::MatrixXd information = ExpectedInformation(objective, at.x);
  for (Eigen::Index k = 0; k < gradient.size(); ++k) {
    at.scaled_gradient =
        std::max(at.scaled_gradient, std::abs(gradient[k]) / std::sqrt(information(k, k)));
  }
  return at;
}

}  // namespace partita::stats
