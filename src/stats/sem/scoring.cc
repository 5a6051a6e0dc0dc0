#include "stats/sem/scoring.h"

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

// Of the inverses that shape a step, as in methods/mle/sealed/slope.cc.
constexpr double kDamping = 0x1p-16, kStepResidual = 0x1p-8, kLargestUnit = 1.001;
constexpr int kScaleBits = 27;
constexpr double kShortened = 13.0 / 16, kLargestObservedSquares = 0x1p12;
constexpr double kLargestResidualSquares = 16, kLargestPowerSquares = 0.81;

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

// Of an observed information, by the series of E = I - a Y H up to E^15; Y where that does not
// prove it positive definite.
MatrixXd InverseNear(const MatrixXd& rough, const MatrixXd& observed) {
  const MatrixXd identity = MatrixXd::Identity(rough.rows(), rough.rows());
  MatrixXd inverse = kShortened * rough;
  const MatrixXd residual = identity - inverse * observed;
  MatrixXd power = residual;
  for (int doubling = 0; doubling < 3; ++doubling) {
    inverse = (identity + power) * inverse;
    power = power * power;
  }
  inverse = (identity + power) * inverse;
  const bool good = observed.squaredNorm() < kLargestObservedSquares &&
                    residual.squaredNorm() < kLargestResidualSquares &&
                    power.squaredNorm() < kLargestPowerSquares;
  return good ? MatrixXd((inverse + inverse.transpose()) / 2) : rough;
}

VectorXd StepFrom(const SemObjective& objective, const VectorXd& x, const VectorXd& gradient,
                  bool newton) {
  const MatrixXd information = ExpectedInformation(objective, x);
  VectorXd scale(x.size());
  for (Eigen::Index k = 0; k < x.size(); ++k) {
    int exponent = 0;
    std::frexp(information(k, k), &exponent);
    scale(k) = OnGrid(std::exp2(-0.5 * exponent) + std::exp2(-kScaleBits - 1), kScaleBits);
  }
  const auto scaled = [&](const MatrixXd& matrix) {
    return MatrixXd(scale.asDiagonal() * matrix * scale.asDiagonal());
  };
  MatrixXd inverse = RoughInverse(scaled(information));
  if (newton) inverse = InverseNear(inverse, scaled(ObservedInformation(objective, x)));
  return scale.cwiseProduct(inverse * scale.cwiseProduct(gradient));
}

}  // namespace

ScoringEnd ScoreSteps(const SemObjective& objective, const VectorXd& start,
                      const ScoringSteps& steps) {
  ScoringEnd at{start, Discrepancy(objective, start), 0};
  VectorXd gradient;
  for (std::size_t t = 0; t < steps.expected + steps.observed; ++t) {
    DiscrepancyWithGradient(objective, at.x, gradient);
    const VectorXd step = StepFrom(objective, at.x, gradient, t >= steps.expected);
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
