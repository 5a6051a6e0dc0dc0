#include "methods/glm/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace partita::methods::glm {
namespace {

constexpr uint64_t kRowsForColumn = 5, kEventsForColumn = 10, kManyClusters = 40;

double UnitOf(const Spec& spec, size_t column) {
  return spec.outcome.scale / spec.parameters[column].scale;
}

double ValueOf(const Spec& spec, size_t column, double scaled) {
  const bool intercept = spec.intercept && spec.sites == 0 && column == 0;
  return scaled * UnitOf(spec, column) + (intercept ? spec.outcome.centre : 0);
}

std::vector<std::string> WarningsOf(const Spec& spec, const FittedModel& model) {
  std::vector<std::string> warnings;
  const uint64_t p = spec.num_coefficients();
  if (model.rows < kRowsForColumn * p) {
    warnings.push_back(
        fmt::format("There are fewer than {} rows for each column.", kRowsForColumn));
  }
  const uint64_t rarer = std::min(model.events, model.rows - model.events);
  if (spec.law.binary && !spec.firth && rarer < kEventsForColumn * p) {
    warnings.push_back(fmt::format(
        "The rarer outcome occurs fewer than {} times for each column: estimates are biased away "
        "from 0, and intervals are too narrow.",
        kEventsForColumn));
  }
  if (spec.ridge > 0) {
    warnings.emplace_back(
        "The ridge draws estimates towards 0. Standard errors, intervals and tests allow for "
        "chance, "
        "not for this bias; there is no AIC, as there are fewer free coefficients than columns.");
  }
  if (spec.firth) {
    warnings.emplace_back(
        "Firth's penalty takes away most of the bias of small samples. Intervals and tests are "
        "Wald's; "
        "where outcomes separate they are too wide on the side where nothing bounds the "
        "coefficient, and profile likelihoods are not computed. There is no AIC.");
  }
  if (spec.clustered() && model.clusters < kManyClusters) {
    warnings.push_back(fmt::format(
        "There are {} clusters, fewer than {}: standard errors of clusters are too small on "
        "average.",
        model.clusters, kManyClusters));
  }
  return warnings;
}

// As R's summary.glm says it, and survey's svyglm.
std::optional<double> FreedomOf(const Spec& spec, const FittedModel& model) {
  const auto p = static_cast<double>(spec.num_coefficients());
  if (spec.weights_kind == study::WeightsKind::kSampling)
    return static_cast<double>(spec.clustered() ? model.clusters : model.rows) - p;
  if (HasDispersion(spec.law)) return static_cast<double>(model.rows) - p;
  return {};
}

// factor: of standard errors.
TermTest TestOf(const data::ModelTerm& term, double statistic, double factor,
                std::optional<double> df) {
  TermTest test{term.name, term.columns.size(), {}, {}};
  if (statistic < 0) return test;
  const auto k = static_cast<double>(test.columns);
  const double chi_square = statistic / (factor * factor);
  test.statistic = df ? chi_square / k : chi_square;
  test.p_value = stats::glm::WaldPValue(chi_square, k, df);
  return test;
}

}  // namespace

double SmallSampleFactor(const Spec& spec, const FittedModel& model) {
  const auto n = static_cast<double>(model.rows), p = static_cast<double>(spec.num_coefficients());
  if (spec.clustered()) {
    const auto clusters = static_cast<double>(model.clusters);
    return std::sqrt(clusters / (clusters - 1));
  }
  if (spec.errors == Errors::kRobustAdjusted) return std::sqrt(n / (n - p));
  const bool sampled = spec.weights_kind == study::WeightsKind::kSampling;
  return sampled ? std::sqrt(n / (n - 1)) : 1;
}

bool ShowsRatio(const Spec& spec, const Coefficient& coefficient) {
  return HasRatios(spec.law) && coefficient.effect;
}

Regression RegressionOf(const Task& task, const Fitted& fitted) {
  const Spec& spec = task.spec;
  const FittedModel& model = *fitted.model;
  Regression regression;
  regression.converged = model.converged;
  regression.rows = model.rows;
  regression.events = model.events;
  regression.clusters = model.clusters;
  const Eigen::VectorXd& last = fitted.points.back();
  for (size_t c = 0; c < spec.parameters.size() && !spec.sealed; ++c) {
    const Eigen::VectorXd& before = fitted.points[fitted.points.size() - 2];
    const auto i = static_cast<Eigen::Index>(c);
    PathRow row{spec.parameters[c].name, {}};
    for (const Eigen::VectorXd& point : fitted.points) row.at.push_back(ValueOf(spec, c, point[i]));
    regression.path.push_back(std::move(row));
    // The point before is on a grid that is up to eight times as coarse.
    const double most = spec.aggregates
                            ? model.standard_errors[i]
                            : fitted.estimate_steps[i] * std::ldexp(1.0, task.grid_bits);
    if (spec.lasso.empty() && std::abs(last[i] - before[i]) > most)
      regression.moving.push_back(spec.parameters[c].name);
  }
  regression.lasso = model.lasso;
  regression.chosen = model.chosen;
  if (!model.converged) return regression;

  const auto n = static_cast<double>(model.rows), p = static_cast<double>(spec.num_coefficients());
  const double used =
      spec.lasso.empty() ? p : static_cast<double>(model.lasso[model.chosen].selected);
  regression.df_residual = n - used;
  const size_t alone = spec.law.classes > 0 ? spec.law.classes - 1 : 1;
  regression.df_null = n - (spec.intercept ? static_cast<double>(alone) : 0);
  if (!model.totals.empty()) regression.fit = FitOf(task, model.rows, model.events, model.totals);
  regression.df = FreedomOf(spec, model);
  const double factor = SmallSampleFactor(spec, model);
  const bool of_theta = spec.law.family == stats::glm::Family::kNegativeBinomial;
  if (of_theta) {
    const Eigen::Index i = last.size() - 1;
    const double theta = std::exp(last[i]);
    regression.theta = {theta, theta * model.standard_errors[i]};
    regression.df_residual += 1;
  }
  for (size_t c = 0; c + (of_theta ? 1 : 0) < spec.parameters.size(); ++c) {
    const auto i = static_cast<Eigen::Index>(c);
    Coefficient coefficient;
    coefficient.term = spec.parameters[c].name;
    coefficient.effect = spec.parameters[c].effect;
    coefficient.estimate = ValueOf(spec, c, last[i]);
    coefficient.standard_error = factor * model.standard_errors[i] * UnitOf(spec, c);
    coefficient.step = fitted.estimate_steps[i] * UnitOf(spec, c);
    if (spec.lasso.empty()) {
      coefficient.inference = stats::glm::Infer(coefficient.estimate, coefficient.standard_error,
                                                regression.df, spec.confidence);
    }
    regression.coefficients.push_back(std::move(coefficient));
  }
  if (model.covariance.size() > 0) {
    const auto k = static_cast<Eigen::Index>(regression.coefficients.size());
    Eigen::VectorXd units(k);
    for (Eigen::Index i = 0; i < k; ++i) units[i] = factor * UnitOf(spec, static_cast<size_t>(i));
    regression.covariance =
        units.asDiagonal() * model.covariance.topLeftCorner(k, k) * units.asDiagonal();
    if (model.covariance_steps.size() > 0)
      regression.covariance_steps = units.cwiseProduct(model.covariance_steps.head(k));
  }
  for (size_t t = 0; t < spec.terms.size(); ++t) {
    regression.tests.push_back(TestOf(spec.terms[t], model.statistics[t], factor, regression.df));
  }
  if (!spec.cuts.empty()) regression.risk = RiskOf(spec, model.risk);
  regression.warnings = WarningsOf(spec, model);
  return regression;
}

}  // namespace partita::methods::glm
