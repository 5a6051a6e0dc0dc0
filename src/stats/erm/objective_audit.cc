#include "stats/erm/objective_audit.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace partita::stats::erm {
namespace {

using Eigen::VectorXd;

constexpr double kTails = 12;  // standard deviations of eta; beyond them 4e-33

// eta that makes w the minimiser, and d eta / d w in absolute value.
struct Noise {
  double value = 0, slope = 0;
};

Noise NoiseOf(const LabelledRows& rows, const Objective& objective, double w) {
  const double n = static_cast<double>(rows.x.rows());
  const VectorXd at = VectorXd::Constant(1, w);
  return {-n * ObjectiveGradient(rows, objective, at)(0),
          n * ObjectiveHessian(rows, objective, at)(0, 0)};
}

double Density(const LabelledRows& rows, const ReleasePair& pair, double w) {
  const Noise noise = NoiseOf(rows, pair.objective, w);
  const double z = noise.value / pair.noise_stddev;
  return noise.slope * std::exp(-z * z / 2) / (pair.noise_stddev * std::sqrt(2 * std::numbers::pi));
}

// The w at which eta is `value`: eta falls as w grows.
double WeightAt(const LabelledRows& rows, const Objective& objective, double value) {
  Objective shifted = objective;
  shifted.noise = VectorXd::Constant(1, value);
  return Minimize(rows, shifted, {1e-9 * (1 + std::abs(value)), 500}).w(0);
}

}  // namespace

double TrueDelta(const ReleasePair& pair, double epsilon, size_t points) {
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
