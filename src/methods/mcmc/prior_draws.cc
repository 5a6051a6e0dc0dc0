#include "methods/mcmc/prior_draws.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "stats/mcmc/outcomes.h"

namespace partita::methods::mcmc {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double kLargestLog = 300;

}  // namespace

MatrixXd DrawFromPriors(const std::vector<stats::mcmc::Prior>& priors, size_t draws,
                        Index coefficients, stats::blr::Variates& variates) {
  MatrixXd thetas(static_cast<Index>(priors.size()), static_cast<Index>(draws));
  for (Index i = 0; i < thetas.cols(); ++i) {
    for (Index j = 0; j < thetas.rows(); ++j) {
      const double value = stats::mcmc::Draw(priors[static_cast<size_t>(j)], variates);
      thetas(j, i) = j < coefficients ? value : std::clamp(value, -kLargestLog, kLargestLog);
    }
  }
  return thetas;
}

double ExpectedOutcome(ChainModel model, double predictor, const VectorXd& theta) {
  switch (model) {
    case ChainModel::kLinear:
      return predictor;
    case ChainModel::kLogistic:
      return 1 / (1 + std::exp(-predictor));
    case ChainModel::kPoisson:
    case ChainModel::kNegativeBinomial:
      return std::exp(predictor);
    case ChainModel::kWeibull:
      return std::exp(predictor + std::exp(theta(theta.size() - 1)) * std::log(std::log(2.0)));
    case ChainModel::kCox:
      break;
  }
  throw Error(ErrorCode::kInternal, "the model has no expected outcome");
}

double DrawOutcome(ChainModel model, const MatrixXd& row, const VectorXd& theta,
                   stats::blr::Variates& variates) {
  switch (model) {
    case ChainModel::kLinear:
      return stats::mcmc::DrawLinear(row, theta, variates)(0);
    case ChainModel::kLogistic:
      return stats::mcmc::DrawLogistic(row, theta, variates)(0);
    case ChainModel::kPoisson:
      return stats::mcmc::DrawPoisson(row, theta, variates)(0);
    case ChainModel::kNegativeBinomial:
      return stats::mcmc::DrawNegativeBinomial(row, theta, variates)(0);
    case ChainModel::kWeibull: {
      const VectorXd never = VectorXd::Constant(1, std::numeric_limits<double>::infinity());
      return stats::mcmc::DrawWeibull(row, theta, never, variates).time(0);
    }
    case ChainModel::kCox:
      break;
  }
  throw Error(ErrorCode::kInternal, "the model draws no outcomes");
}

}  // namespace partita::methods::mcmc
