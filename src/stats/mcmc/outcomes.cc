#include "stats/mcmc/outcomes.h"

#include <algorithm>
#include <cmath>

namespace partita::stats::mcmc {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

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

SurvivalRows DrawWeibull(const MatrixXd& x, const VectorXd& theta, double end,
                         blr::Variates& variates) {
  const VectorXd predictor = x * theta.head(x.cols());
  const double sigma = std::exp(theta(x.cols()));
  SurvivalRows rows{x, VectorXd(predictor.size()), VectorXd(predictor.size())};
  for (Index i = 0; i < predictor.size(); ++i) {
    // Minimum extreme value: the logarithm of an exponential variate.
    const double time = std::exp(predictor(i) + sigma * std::log(variates.Exponential()));
    rows.event(i) = time <= end ? 1 : 0;
    rows.time(i) = std::clamp(time, 1e-300, end);
  }
  return rows;
}

}  // namespace partita::stats::mcmc
