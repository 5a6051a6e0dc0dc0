#include "stats/mcmc/outcomes.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numbers>

namespace partita::stats::mcmc {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double kLargestMean = 1e15;
// Above it by Cornish and Fisher's expansion, whose error is of the order 1 / mean: the inverse of
// the gamma function gets slow, and near the largest mean does not converge for every variate.
constexpr double kExpanded = 1e6;
constexpr double kSearched = 50;  // means up to this by going through the counts

// By inversion: the smallest count k whose distribution function, Q(k + 1, mean), reaches a uniform
// variate; Q grows with its first argument.
double DrawCount(double mean, blr::Variates& variates) {
  const double u = variates.Uniform();
  if (!(mean > 0)) return 0;
  if (mean < kSearched) {
    double count = 0, mass = std::exp(-mean), sum = mass;
    while (sum < u && mass > 0) {
      mass *= mean / ++count;
      sum += mass;
    }
    return count;
  }
  if (mean > kExpanded) {
    const double capped = std::min(mean, kLargestMean);
    const double z = -std::numbers::sqrt2 * boost::math::erfc_inv(2 * u);
    return std::round(capped + std::sqrt(capped) * z + (z * z - 1) / 6);
  }
  return std::max(std::ceil(boost::math::gamma_q_inva(mean, u) - 1), 0.0);
}

}  // namespace

VectorXd DrawLinear(const MatrixXd& x, const VectorXd& theta, blr::Variates& variates) {
  VectorXd outcome = x * theta.head(x.cols());
  const double sigma = std::exp(theta(x.cols()));
  for (double& y : outcome) y += sigma * variates.Normal();
  return outcome;
}

VectorXd DrawPoisson(const MatrixXd& x, const VectorXd& theta, blr::Variates& variates) {
  VectorXd outcome = x * theta;
  for (double& y : outcome) y = DrawCount(std::exp(y), variates);
  return outcome;
}

VectorXd DrawNegativeBinomial(const MatrixXd& x, const VectorXd& theta, blr::Variates& variates) {
  VectorXd outcome = x * theta.head(x.cols());
  const double size = std::exp(theta(x.cols()));
  // A Poisson variate whose mean is a gamma variate.
  for (double& y : outcome) y = DrawCount(std::exp(y) * variates.Gamma(size) / size, variates);
  return outcome;
}

VectorXd DrawLogistic(const MatrixXd& x, const VectorXd& theta, blr::Variates& variates) {
  const VectorXd predictor = x * theta;
  VectorXd outcome(predictor.size());
  for (Index i = 0; i < outcome.size(); ++i) {
    // P(logit(U) < predictor) = 1 / (1 + e^-predictor).
    const double u = variates.Uniform();
    outcome(i) = std::log(u) - std::log1p(-u) < predictor(i) ? 1 : 0;
  }
  return outcome;
}

SurvivalRows DrawWeibull(const MatrixXd& x, const VectorXd& theta, const VectorXd& end,
                         blr::Variates& variates) {
  const VectorXd predictor = x * theta.head(x.cols());
  const double sigma = std::exp(theta(x.cols()));
  SurvivalRows rows{x, VectorXd(predictor.size()), VectorXd(predictor.size())};
  for (Index i = 0; i < predictor.size(); ++i) {
    // Minimum extreme value: the logarithm of an exponential variate.
    const double time = std::exp(predictor(i) + sigma * std::log(variates.Exponential()));
    rows.event(i) = time <= end(i) ? 1 : 0;
    rows.time(i) = std::clamp(time, 1e-300, end(i));
  }
  return rows;
}

}  // namespace partita::stats::mcmc
