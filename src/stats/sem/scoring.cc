#include "stats/sem/scoring.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>

#include "stats/sem/information.h"

namespace partita::stats {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::array<double, 3> kStepSizes = {1, 0.5, 0.125};
// Near the minimum F falls by less than the full step may raise it by.
constexpr double kSlack = 0x1p-31;

// Of the observed information in units of the expected one's diagonal.
constexpr double kLargestObserved = 8, kSmallestPivot = 0x1p-17;

VectorXd NewtonStep(const SemObjective& objective, const VectorXd& x, const VectorXd& gradient) {
  const VectorXd scale = ExpectedInformation(objective, x).diagonal().cwiseSqrt().cwiseInverse();
  const MatrixXd scaled =
      scale.asDiagonal() * ObservedInformation(objective, x) * scale.asDiagonal();
  const Eigen::LDLT<MatrixXd> factor(scaled);
  if (scaled.cwiseAbs().maxCoeff() > kLargestObserved ||
      !(factor.vectorD().minCoeff() > kSmallestPivot)) {
    return VectorXd::Zero(x.size());
  }
  return scale.cwiseProduct(factor.solve(scale.cwiseProduct(gradient)));
}

}  // namespace

ScoringEnd ScoreSteps(const SemObjective& objective, const VectorXd& start,
                      const ScoringSteps& steps) {
  ScoringEnd at{start, Discrepancy(objective, start), 0};
  VectorXd gradient;
  for (std::size_t t = 0; t < steps.expected + steps.observed; ++t) {
    DiscrepancyWithGradient(objective, at.x, gradient);
    const VectorXd step = t < steps.expected
                              ? SolveSemidefinite(ExpectedInformation(objective, at.x), gradient)
                              : NewtonStep(objective, at.x, gradient);
    for (const double size : kStepSizes) {
      const VectorXd tried = at.x - size * step;
      const double value = Discrepancy(objective, tried);
      if (!(value < at.value + (size == 1 ? kSlack : 0))) continue;
      at.x = tried;
      at.value = value;
      break;
    }
  }
  DiscrepancyWithGradient(objective, at.x, gradient);
  const MatrixXd information = ExpectedInformation(objective, at.x);
  for (Eigen::Index k = 0; k < gradient.size(); ++k) {
    at.scaled_gradient =
        std::max(at.scaled_gradient, std::abs(gradient[k]) / std::sqrt(information(k, k)));
  }
  return at;
}

}  // namespace partita::stats
