#include "methods/mcmc/prior_sensitivity.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace partita::methods::mcmc {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Moments {
  VectorXd mean, sd;
};

// weights sum to 1.
Moments WeightedMoments(const MatrixXd& draws, const VectorXd& weights) {
  Moments moments;
  moments.mean = draws.transpose() * weights;
  moments.sd =
      ((draws.rowwise() - moments.mean.transpose()).array().square().matrix().transpose() * weights)
          .cwiseSqrt();
  return moments;
}

// Of the priors as they are declared: of a scale, and not of its logarithm.
VectorXd LogDeclared(const std::vector<stats::mcmc::Prior>& priors, const MatrixXd& draws) {
  VectorXd sum = stats::mcmc::LogPrior(priors, draws.transpose());
  for (size_t j = 0; j < priors.size(); ++j) {
    if (priors[j].kind == stats::mcmc::PriorKind::kExponential)
      sum -= draws.col(static_cast<Index>(j));
  }
  return sum;
}

VectorXd WeightsOf(const VectorXd& log_prior, double power) {
  const VectorXd logs = (power - 1) * log_prior;
  const VectorXd weights = (logs.array() - logs.maxCoeff()).exp();
  return weights / weights.sum();
}

ScaledPosterior Compare(const Moments& scaled, const Moments& posterior, Index j) {
  const double sd = posterior.sd(j);
  if (!(sd > 0)) return {};
  return {(scaled.mean(j) - posterior.mean(j)) / sd, scaled.sd(j) / sd};
}

}  // namespace

bool ParameterSensitivity::sensitive() const {
  const auto moved = [](const ScaledPosterior& at) {
    return std::abs(at.shift) > kSensitiveShift || std::abs(at.scale - 1) > kSensitiveScale;
  };
  return moved(weaker) || moved(stronger);
}

PriorSensitivity ScalePriors(const std::vector<std::string>& names,
                             const std::vector<stats::mcmc::Prior>& priors,
                             const stats::mcmc::Draws& draws) {
  Index rows = 0;
  for (const MatrixXd& chain : draws.chains) rows += chain.rows();
  if (rows == 0 || names.size() != priors.size()) {
    throw Error(ErrorCode::kUsage, "there are no draws, or not a prior for every parameter");
  }
  MatrixXd all(rows, static_cast<Index>(names.size()));
  Index at = 0;
  for (const MatrixXd& chain : draws.chains) {
    all.middleRows(at, chain.rows()) = chain;
    at += chain.rows();
  }
  const VectorXd log_prior = LogDeclared(priors, all);
  const VectorXd even = VectorXd::Constant(rows, 1 / static_cast<double>(rows));
  const VectorXd weak = WeightsOf(log_prior, kWeakerPrior);
  const VectorXd strong = WeightsOf(log_prior, kStrongerPrior);
  const Moments posterior = WeightedMoments(all, even), weaker = WeightedMoments(all, weak),
                stronger = WeightedMoments(all, strong);
  PriorSensitivity sensitivity;
  sensitivity.draws = static_cast<double>(rows);
  sensitivity.effective_draws = 1 / std::max(weak.squaredNorm(), strong.squaredNorm());
  for (size_t j = 0; j < names.size(); ++j) {
    const auto column = static_cast<Index>(j);
    sensitivity.parameters.push_back(
        {names[j], Compare(weaker, posterior, column), Compare(stronger, posterior, column)});
  }
  return sensitivity;
}

}  // namespace partita::methods::mcmc
