#include "stats/erm/objective_noise.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>

#include "base/error.h"

namespace partita::stats::erm {
namespace {

double SlackFor(double log_factor, double lambda, size_t rows, double max_curvature) {
  return max_curvature / (static_cast<double>(rows) * std::expm1(log_factor)) - lambda;
}

void CheckPenalty(double lambda, size_t rows) {
  if (!(lambda > 0) || !std::isfinite(lambda) || rows == 0) {
    throw Error(ErrorCode::kUsage, "objective perturbation needs a penalty lambda > 0 and rows",
                "use lambda = 0.01 or more; without a penalty the minimiser has no sensitivity");
  }
}

// Of the chi-square law, at 1 - delta.
double Quantile(NoiseRule rule, size_t dimension, privacy::Delta delta) {
  const double freedom = rule == NoiseRule::kLinearModel
                             ? static_cast<double>(std::min<size_t>(dimension, 2))
                             : static_cast<double>(dimension);
  return boost::math::quantile(
      boost::math::complement(boost::math::chi_squared(freedom), delta.value()));
}

}  // namespace

Slack PaperSlack(privacy::Epsilon epsilon, double lambda, size_t rows, double max_curvature) {
  CheckPenalty(lambda, rows);
  const double rest =
      epsilon.value() - 2 * std::log1p(max_curvature / (static_cast<double>(rows) * lambda));
  if (rest > 0) return {0, rest};
  return {SlackFor(epsilon.value() / 4, lambda, rows, max_curvature), epsilon.value() / 2};
}

Slack SlackLeaving(double rest, privacy::Epsilon epsilon, double lambda, size_t rows,
                   double max_curvature) {
  CheckPenalty(lambda, rows);
  if (!(rest > 0 && rest < epsilon.value())) {
    throw Error(ErrorCode::kUsage, "the Gaussian's share of epsilon must be below all of it",
                "use a share between 0 and 1");
  }
  return {std::max(0.0, SlackFor(epsilon.value() - rest, lambda, rows, max_curvature)), rest};
}

double ObjectiveEpsilonRest(NoiseRule rule, size_t dimension, double noise_stddev,
                            privacy::Delta delta) {
  if (!(noise_stddev > 0) || dimension == 0) {
    throw Error(ErrorCode::kUsage, "objective perturbation needs noise and columns");
  }
  const double q = Quantile(rule, dimension, delta);
  return (2 * noise_stddev * std::sqrt(q) + 2) / (noise_stddev * noise_stddev);
}

double DeterminantEpsilon(double lambda_and_slack, size_t rows, double max_curvature) {
  CheckPenalty(lambda_and_slack, rows);
  return std::log1p(max_curvature / (static_cast<double>(rows) * lambda_and_slack));
}

double ObjectiveNoise(NoiseRule rule, size_t dimension, double epsilon_rest, privacy::Delta delta) {
  if (!(epsilon_rest > 0) || dimension == 0) {
    throw Error(ErrorCode::kUsage, "no epsilon is left for the noise",
                "use a larger epsilon, or a larger slack");
  }
  const double q = Quantile(rule, dimension, delta);
  if (rule == NoiseRule::kPrinted) return 2 / (epsilon_rest + 2 * std::sqrt(q));
  return (std::sqrt(q) + std::sqrt(q + 2 * epsilon_rest)) / epsilon_rest;
}

}  // namespace partita::stats::erm
