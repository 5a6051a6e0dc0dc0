#include "methods/mixed/result.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace partita::methods::mixed {
namespace {

constexpr uint64_t kFewGroups = 10, kRowsForColumn = 5;

Part OnLogScale(double value, double log_variance, double confidence) {
  const stats::glm::Inference of =
      stats::glm::Infer(std::log(value), std::sqrt(log_variance), {}, confidence);
  return {value, std::exp(of.lower), std::exp(of.upper)};
}

double Correlation(double log_lambda) { return 1 / (1 + std::exp(-log_lambda)); }

// -2 log-likelihood, of scaled numbers as it opened, in the units of the variables.
double Criterion(const Task& task, const OpenedFit& fit, double freedom) {
  const Spec& spec = task.spec;
  const auto n = static_cast<double>(fit.rows), p = static_cast<double>(task.num_columns());
  double criterion = fit.criterion + freedom * (1 + std::log(2 * std::numbers::pi) +
                                                std::log(n / freedom) + 2 * std::log(spec.scale));
  if (!spec.reml()) return criterion;
  criterion += p * std::log(n);
  for (const data::ModelColumn& column : spec.columns) criterion += 2 * std::log(column.scale);
  return criterion;
}

std::vector<std::string> WarningsOf(const Task& task, const OpenedFit& fit) {
  std::vector<std::string> warnings;
  if (fit.singular) {
    warnings.push_back(fmt::format(
        "The fit is singular: the variance between groups is estimated as 0, or less than {:.2g} "
        "times the variance within, so that the rest is a regression without groups. With few "
        "groups this happens though they differ.",
        std::exp2(task.LeastLambdaLog2())));
  }
  if (fit.groups < kFewGroups) {
    warnings.push_back(fmt::format(
        "There are {} groups, fewer than {}: the variance between them is hardly known, and "
        "intervals of effects that differ between groups are too narrow.",
        fit.groups, kFewGroups));
  }
  if (fit.rows < kRowsForColumn * task.num_columns()) {
    warnings.push_back(
        fmt::format("There are fewer than {} rows for each column.", kRowsForColumn));
  }
  return warnings;
}

}  // namespace

Regression RegressionOf(const Task& task, const OpenedFit& fit) {
  const Spec& spec = task.spec;
  Regression regression;
  regression.converged = fit.converged;
  regression.rows = fit.rows;
  regression.groups = fit.groups;
  if (!fit.converged) return regression;
  regression.singular = fit.singular;
  for (size_t c = 0; c < spec.columns.size(); ++c) {
    const auto i = static_cast<Eigen::Index>(c);
    const double unit = spec.scale / spec.columns[c].scale;
    Coefficient coefficient;
    coefficient.term = spec.columns[c].name;
    coefficient.estimate = fit.estimates[i] * unit + (spec.intercept && c == 0 ? spec.centre : 0);
    coefficient.standard_error = fit.standard_errors[i] * unit;
    coefficient.step = fit.steps[i] * unit;
    coefficient.inference =
        stats::glm::Infer(coefficient.estimate, coefficient.standard_error, {}, spec.confidence);
    regression.coefficients.push_back(std::move(coefficient));
  }
  const auto n = static_cast<double>(fit.rows), p = static_cast<double>(task.num_columns());
  const double freedom = n - (spec.reml() ? p : 0);
  const double within = std::exp(fit.log_residual) * n / freedom * spec.scale * spec.scale;
  const double v = fit.log_lambda_error * fit.log_lambda_error, r = fit.falls;
  regression.within = OnLogScale(within, 2 / freedom + r * r * v, spec.confidence);
  if (!fit.singular) {
    regression.between = OnLogScale(within * std::exp(fit.log_lambda),
                                    2 / freedom + (1 - r) * (1 - r) * v, spec.confidence);
    const stats::glm::Inference logit =
        stats::glm::Infer(fit.log_lambda, fit.log_lambda_error, {}, spec.confidence);
    regression.correlation = {Correlation(fit.log_lambda), Correlation(logit.lower),
                              Correlation(logit.upper)};
  }
  const double criterion = Criterion(task, fit, freedom);
  regression.log_likelihood = -criterion / 2;
  regression.aic = criterion + 2 * (p + 2);
  regression.bic = criterion + std::log(n) * (p + 2);
  regression.warnings = WarningsOf(task, fit);
  return regression;
}

}  // namespace partita::methods::mixed
