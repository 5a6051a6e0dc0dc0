// The true delta of objective perturbation with one feature, from exact densities: the evidence
// that the sigma* printed in Rajkumar & Agarwal, Procedure 3, does not keep its promise and that
// the corrected one does.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "stats/erm/minimize.h"

namespace partita::stats::erm {

// Two tables with one column, neighbours of each other, and the released law of each:
// the minimiser under eta ~ N(0, noise_stddev^2).
struct ReleasePair {
  LabelledRows rows, neighbour;
  Objective objective;  // without noise
  double noise_stddev = 1;
};

namespace objective_audit {

inline constexpr double kTails = 12;  // standard deviations of eta; beyond them 4e-33

// eta that makes w the minimiser, and d eta / d w in absolute value.
struct Noise {
  double value = 0, slope = 0;
};

inline Noise NoiseOf(const LabelledRows& rows, const Objective& objective, double w) {
  const double n = static_cast<double>(rows.x.rows());
  const Eigen::VectorXd at = Eigen::VectorXd::Constant(1, w);
  return {-n * ObjectiveGradient(rows, objective, at)(0),
          n * ObjectiveHessian(rows, objective, at)(0, 0)};
}

inline double Density(const LabelledRows& rows, const ReleasePair& pair, double w) {
  const Noise noise = NoiseOf(rows, pair.objective, w);
  const double z = noise.value / pair.noise_stddev;
  return noise.slope * std::exp(-z * z / 2) / (pair.noise_stddev * std::sqrt(2 * std::numbers::pi));
}

// The w at which eta is `value`: eta falls as w grows.
inline double WeightAt(const LabelledRows& rows, const Objective& objective, double value) {
  Objective shifted = objective;
  shifted.noise = Eigen::VectorXd::Constant(1, value);
  return Minimize(rows, shifted, {1e-9 * (1 + std::abs(value)), 500}).w(0);
}

}  // namespace objective_audit

// sup over events of P(w in A) - e^epsilon P'(w in A), the larger of the two directions, by the
// trapezoid rule on `points` points. With w, eta(w) = -(sum of gradients) - N (lambda + slack) w is
// normal and strictly monotone, so the density of w is that of eta times |d eta / d w|.
inline double TrueDelta(const ReleasePair& pair, double epsilon, size_t points = 20001) {
  using objective_audit::Density, objective_audit::WeightAt, objective_audit::kTails;
  double low = 0, high = 0;
  for (const LabelledRows* rows : {&pair.rows, &pair.neighbour}) {
    low = std::min(low, WeightAt(*rows, pair.objective, kTails * pair.noise_stddev));
    high = std::max(high, WeightAt(*rows, pair.objective, -kTails * pair.noise_stddev));
  }
  const double step = (high - low) / static_cast<double>(points - 1);
  double forward = 0, backward = 0;
  for (size_t i = 0; i < points; ++i) {
    const double w = low + static_cast<double>(i) * step;
    const double p = Density(pair.rows, pair, w), q = Density(pair.neighbour, pair, w);
    const double weight = i == 0 || i + 1 == points ? step / 2 : step;
    forward += weight * std::max(0.0, p - std::exp(epsilon) * q);
    backward += weight * std::max(0.0, q - std::exp(epsilon) * p);
  }
  return std::max(forward, backward);
}

}  // namespace partita::stats::erm
