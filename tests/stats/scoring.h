// Steps of a fixed number: what protocol `sealed` does on shares, in the clear.
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
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "stats/sem/information.h"
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

namespace scoring {

using Eigen::MatrixXd;
using Eigen::VectorXd;

inline constexpr std::array<double, 3> kStepSizes = {1, 0.5, 0.125};
// Near the minimum F falls by less than the full step may raise it by.
inline constexpr double kSlack = 0x1p-31;

inline double OnGrid(double value, int bits) {
  return std::ldexp(std::floor(std::ldexp(value, bits)), -bits);
}

// (unit + l I)^-1 for a diagonal of at most 1.001, as mpc/functions/inverse.h makes it.
inline MatrixXd RoughInverse(const MatrixXd& unit) {
  const MatrixXd identity = MatrixXd::Identity(unit.rows(), unit.rows());
  const double smallest = 0x1p-16 * static_cast<double>(unit.rows());
  const double largest = 1.001 * static_cast<double>(unit.rows()) + smallest;
  const double scale = std::exp2(-std::ceil(std::log2(largest)));
  const double start = OnGrid(2 / (scale * largest + scale * smallest), 20);
  double error = std::max(std::abs(1 - start * scale * smallest),  //
                          std::abs(1 - start * scale * largest));
  MatrixXd residual = identity - start * scale * (unit + smallest * identity);
  MatrixXd inverse = start * scale * identity;
  while (error > 0x1p-8) {
    const double weight = OnGrid(2 / (2 - error * error), 8);
    inverse = weight * inverse * (identity + residual);
    residual = (1 - weight) * identity + weight * residual * residual;
    error = std::max(weight - 1, std::abs(1 - weight + weight * error * error));
  }
  return inverse;
}

// Of an observed information, by the series of E = I - a Y H up to E^15; Y where that does not
// prove it positive definite.
inline MatrixXd InverseNear(const MatrixXd& rough, const MatrixXd& observed) {
  const MatrixXd identity = MatrixXd::Identity(rough.rows(), rough.rows());
  MatrixXd inverse = 13.0 / 16 * rough;
  const MatrixXd residual = identity - inverse * observed;
  MatrixXd power = residual;
  for (int doubling = 0; doubling < 3; ++doubling) {
    inverse = (identity + power) * inverse;
    power = power * power;
  }
  inverse = (identity + power) * inverse;
  const bool good =
      observed.squaredNorm() < 0x1p12 && residual.squaredNorm() < 16 && power.squaredNorm() < 0.81;
  return good ? MatrixXd((inverse + inverse.transpose()) / 2) : rough;
}

inline VectorXd StepFrom(const SemObjective& objective, const VectorXd& x, const VectorXd& gradient,
                         bool newton) {
  const MatrixXd information = ExpectedInformation(objective, x);
  VectorXd scale(x.size());
  for (Eigen::Index k = 0; k < x.size(); ++k) {
    int exponent = 0;
    std::frexp(information(k, k), &exponent);
    scale(k) = OnGrid(std::exp2(-0.5 * exponent) + 0x1p-28, 27);  // to the nearest
  }
  const auto scaled = [&](const MatrixXd& matrix) {
    return MatrixXd(scale.asDiagonal() * matrix * scale.asDiagonal());
  };
  MatrixXd inverse = RoughInverse(scaled(information));
  if (newton) inverse = InverseNear(inverse, scaled(ObservedInformation(objective, x)));
  return scale.cwiseProduct(inverse * scale.cwiseProduct(gradient));
}

}  // namespace scoring

// start: where the discrepancy is finite. Throws kInternal for a start that is no covariance.
inline ScoringEnd ScoreSteps(const SemObjective& objective, const Eigen::VectorXd& start,
                             const ScoringSteps& steps) {
  ScoringEnd at{start, Discrepancy(objective, start), 0};
  Eigen::VectorXd gradient;
  for (std::size_t t = 0; t < steps.expected + steps.observed; ++t) {
    DiscrepancyWithGradient(objective, at.x, gradient);
    const Eigen::VectorXd step = scoring::StepFrom(objective, at.x, gradient, t >= steps.expected);
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
