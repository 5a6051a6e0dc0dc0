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

// Of the inverse that shapes a step, as in methods/mle/sealed/slope.cc.
constexpr double kDamping = 0x1p-16, kStepResidual = 0x1p-8, kLargestUnit = 1.001;

double OnGrid(double value, int bits) {
  return std::ldexp(std::floor(std::ldexp(value, bits)), -bits);
}

// (unit + l I)^-1 for a diagonal of at most kLargestUnit, as mpc/functions/inverse.h makes it.
MatrixXd RoughInverse(const MatrixXd& unit) {
  const MatrixXd identity = MatrixXd::Identity(unit.rows(), unit.rows());
  const double smallest = kDamping * static_cast<double>(unit.rows());
  const double largest = kLargestUnit * static_cast<double>(unit.rows()) + smallest;
  const double scale = std::exp2(-std::ceil(std::log2(largest)));
  const double start = OnGrid(2 / (scale * largest + scale * smallest), 20);
  double error =
      std::max(std::abs(1 - start * scale * smallest), std::abs(1 - start * scale * largest));
  MatrixXd residual = identity - start * scale * (unit + smallest * identity);
  MatrixXd inverse = start * scale * identity;
  while (error > kStepResidual) {
    const double weight = OnGrid(2 / (2 - error * error), 8);
    inverse = weight * inverse * (identity + residual);
    residual = (1 - weight) * identity + weight * residual * residual;
    error = std::max(weight - 1, std::abs(1 - weight + weight * error * error));
  }
  return inverse;
}

VectorXd RoughStep(const SemObjective& objective, const VectorXd& x, const VectorXd& gradient) {
  const MatrixXd information = ExpectedInformation(objective, x);
  VectorXd scale(x.size());
  for (Eigen::Index k = 0; k < x.size(); ++k) {
    int exponent = 0;
    std::frexp(information(k, k), &exponent);
    scale(k) = OnGrid(std::exp2(-0.5 * exponent) + 0x1p-31, 30);
  }
  const MatrixXd unit = scale.asDiagonal() * information * scale.asDiagonal();
  return scale.cwiseProduct(RoughInverse(unit) * scale.cwiseProduct(gradient));
}

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
    const VectorXd step = t < steps.expected ? RoughStep(objective, at.x, gradient)
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
