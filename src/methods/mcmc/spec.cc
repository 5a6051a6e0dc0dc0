#include "methods/mcmc/spec.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "crypto/hash.h"
#include "crypto/prg.h"
#include "stats/mcmc/clipped.h"
#include "stats/mcmc/lipschitz.h"

namespace partita::methods::mcmc {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

VectorXd StartOf(const ChainSpec& spec) {
  const std::vector<std::string> names = ParameterNames(spec);
  VectorXd start = VectorXd::Zero(static_cast<Index>(names.size()));
  for (size_t j = 0; j < names.size(); ++j) {
    const auto given = spec.start.find(names[j]);
    if (given != spec.start.end()) start(static_cast<Index>(j)) = given->second;
  }
  return start;
}

stats::mcmc::TargetPtr ExactTarget(const ChainSpec& spec, MatrixXd x, const ChainRows& rows) {
  switch (spec.model) {
    case ChainModel::kLinear:
      return stats::mcmc::LinearTarget(std::move(x), rows.outcome);
    case ChainModel::kLogistic:
      return stats::mcmc::LogisticTarget(std::move(x), rows.outcome);
    case ChainModel::kPoisson:
      return stats::mcmc::PoissonTarget(std::move(x), rows.outcome);
    case ChainModel::kNegativeBinomial:
      return stats::mcmc::NegativeBinomialTarget(std::move(x), rows.outcome);
    case ChainModel::kWeibull:
      return stats::mcmc::WeibullTarget({std::move(x), rows.outcome, rows.event});
    case ChainModel::kCox:
      return stats::mcmc::CoxTarget({std::move(x), rows.outcome, rows.event});
  }
  throw Error(ErrorCode::kInternal, "a chain has no model");
}

}  // namespace

const std::vector<std::string>& ChainModelNames() {
  static const std::vector<std::string> names = {
      "linear", "logistic", "poisson", "negative-binomial", "weibull", "cox"};
  return names;
}

double RowSensitivity(const ChainPrivacy& privacy, privacy::Adjacency adjacency) {
  return privacy.lipschitz > 0 ? stats::mcmc::LipschitzSensitivity(privacy.lipschitz, adjacency)
                               : stats::mcmc::ClippedSensitivity(privacy.clip, adjacency);
}

bool IsSurvival(ChainModel model) {
  return model == ChainModel::kWeibull || model == ChainModel::kCox;
}

bool TakesOutcome(ChainModel model, double outcome) {
  switch (model) {
    case ChainModel::kLinear:
      return std::isfinite(outcome);
    case ChainModel::kLogistic:
      return outcome == 0 || outcome == 1;
    case ChainModel::kPoisson:
    case ChainModel::kNegativeBinomial:
      return outcome >= 0 && outcome == std::floor(outcome);
    case ChainModel::kWeibull:
    case ChainModel::kCox:
      return outcome > 0;
  }
  throw Error(ErrorCode::kInternal, "a chain has no model");
}

std::vector<std::string> ParameterNames(const ChainSpec& spec) {
  std::vector<std::string> names;
  if (spec.intercept) names.emplace_back("intercept");
  names.insert(names.end(), spec.predictors.begin(), spec.predictors.end());
  if (spec.model == ChainModel::kLinear || spec.model == ChainModel::kWeibull) {
    names.emplace_back("log_sigma");
  }
  if (spec.model == ChainModel::kNegativeBinomial) names.emplace_back("log_size");
  return names;
}

ChainPlan PlanOf(const ChainSpec& spec) {
  ChainPlan plan;
  plan.options = spec.options;
  plan.rule = spec.rule;
  plan.staged = spec.first_stage > 0;
  plan.start = StartsOf(spec);
  for (const std::string& name : ParameterNames(spec)) {
    const auto given = spec.priors.find(name);
    plan.priors.push_back(given == spec.priors.end() ? spec.coefficients : given->second);
  }
  if (spec.privacy && spec.rule == Rule::kPenalty) {
    plan.penalty.tau = spec.privacy->noise;
    plan.penalty.constant =
        stats::mcmc::ClippedSensitivity(spec.privacy->clip, privacy::Adjacency::kAddRemove);
  }
  return plan;
}

MatrixXd StartsOf(const ChainSpec& spec) {
  const VectorXd centre = StartOf(spec);
  const auto chains = static_cast<Index>(spec.options.chains);
  MatrixXd starts = centre.replicate(1, chains);
  if (spec.options.superchains == 0) return starts;
  const auto members = chains / static_cast<Index>(spec.options.superchains);
  crypto::Prg stream(crypto::Key{});
  stats::blr::Variates variates(stream);
  for (Index first = 0; first < chains; first += members) {
    VectorXd point = centre;
    for (double& value : point) value += spec.spread * variates.Normal();
    starts.middleCols(first, members) = point.replicate(1, members);
  }
  return starts;
}

bool BeginsTooFar(const ChainSpec& spec) {
  const VectorXd centre = StartOf(spec);
  const MatrixXd starts = StartsOf(spec);
  const auto farthest = [&](const MatrixXd& points) {
    return stats::mcmc::ReachOf(points, spec.options.reach).maxCoeff();
  };
  return std::max(farthest(starts), farthest(starts.colwise() - centre)) > stats::mcmc::kFarthest;
}

StagedRows SplitStages(const ChainRows& rows, double first_stage) {
  std::vector<Index> first, later;
  for (Index i = 0; i < rows.outcome.size(); ++i) {
    crypto::Sha256 hash;
    hash.Field("partita stage of a row");
    const auto add = [&](double value) {
      hash.Field(std::to_string(std::bit_cast<uint64_t>(value)));
    };
    for (Index j = 0; j < rows.predictors.cols(); ++j) add(rows.predictors(i, j));
    add(rows.outcome(i));
    if (rows.event.size() > 0) add(rows.event(i));
    const crypto::Digest digest = hash.Finish();
    const double uniform = std::ldexp(digest[0] * 65536.0 + digest[1] * 256.0 + digest[2], -24);
    (uniform < first_stage ? first : later).push_back(i);
  }
  const auto take = [&](const std::vector<Index>& of) {
    ChainRows some{rows.predictors(of, Eigen::all), rows.outcome(of), {}};
    if (rows.event.size() > 0) some.event = rows.event(of);
    return some;
  };
  return {take(first), take(later)};
}

MatrixXd DesignOf(const ChainSpec& spec, const ChainRows& rows) {
  const Index ones = spec.intercept ? 1 : 0;
  MatrixXd x(rows.predictors.rows(), rows.predictors.cols() + ones);
  if (spec.intercept) x.col(0).setOnes();
  x.rightCols(rows.predictors.cols()) = rows.predictors;
  return x;
}

stats::mcmc::TargetPtr TargetOf(const ChainSpec& spec, const ChainRows& rows) {
  const size_t dimension = ParameterNames(spec).size();
  if (rows.outcome.size() == 0) {
    return stats::mcmc::OwnTarget(dimension, [](const VectorXd&) { return 0.0; });
  }
  stats::mcmc::TargetPtr target = ExactTarget(spec, DesignOf(spec, rows), rows);
  if (!spec.privacy) return target;
  if (BoundsSteps(spec.privacy))
    return stats::mcmc::LipschitzTarget(std::move(target), StartOf(spec), spec.options.reach);
  return stats::mcmc::ClippedTarget(std::move(target), StartOf(spec), spec.privacy->clip);
}

}  // namespace partita::methods::mcmc
