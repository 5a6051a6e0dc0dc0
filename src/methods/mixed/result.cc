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

void WarnOfFew(const Task& task, uint64_t rows, uint64_t groups,
               std::vector<std::string>& warnings) {
  if (groups < kFewGroups) {
    warnings.push_back(fmt::format(
        "There are {} groups, fewer than {}: the variance between them is hardly known, and "
        "intervals of effects that differ between groups are too narrow.",
        groups, kFewGroups));
  }
  if (rows < kRowsForColumn * task.num_columns()) {
    warnings.push_back(
        fmt::format("There are fewer than {} rows for each column.", kRowsForColumn));
  }
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
  WarnOfFew(task, fit.rows, fit.groups, warnings);
  return warnings;
}

// In the units of the variables, from those of scaled columns; nothing where it did not open.
void TakeCovariance(const Spec& spec, const Eigen::MatrixXd& covariance,
                    const Eigen::VectorXd& steps, Regression& regression) {
  if (!spec.covariance) return;
  Eigen::VectorXd units(static_cast<Eigen::Index>(spec.columns.size()));
  for (size_t c = 0; c < spec.columns.size(); ++c) {
    units[static_cast<Eigen::Index>(c)] = (spec.linear() ? spec.scale : 1) / spec.columns[c].scale;
  }
  regression.covariance = units.asDiagonal() * covariance * units.asDiagonal();
  regression.covariance_steps = units.cwiseProduct(steps);
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
  TakeCovariance(spec, fit.covariance, fit.steps, regression);
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

namespace {

// Of psi at `k`, a deviation in this unit.
Part Variance(const Task& task, const PathFitted& fitted, Eigen::Index k, double unit) {
  const auto p = static_cast<Eigen::Index>(task.num_columns());
  const double deviation = std::exp(fitted.points.back()[p + k]) * unit,
               log_error = 2 * fitted.model->standard_errors[p + k];
  return OnLogScale(deviation * deviation, log_error * log_error, task.spec.confidence);
}

Regression SlopeRegression(const Task& task, const PathFitted& fitted) {
  const Spec& spec = task.spec;
  const PathModel& model = fitted.model.value();
  const auto p = static_cast<Eigen::Index>(task.num_columns());
  const double of_slope = spec.scale / spec.columns[*spec.slope].scale;
  Regression regression;
  regression.converged = model.converged;
  regression.rows = model.rows;
  regression.groups = model.groups;
  const size_t on_the_way = fitted.points.size() - (model.converged ? 1 : 0);
  // A number of a point in the units of the variables.
  const auto in_units = [&](Eigen::Index i, double value) {
    if (i < p) {
      const bool intercept = spec.intercept && i == 0;
      return value * spec.scale / spec.columns[static_cast<size_t>(i)].scale +
             (intercept ? spec.centre : 0);
    }
    if (i == p + 2) return std::tanh(value);
    return std::exp(value) * (i == p + 1 ? of_slope : spec.scale);
  };
  for (Eigen::Index i = 0; i < static_cast<Eigen::Index>(task.num_of_point()); ++i) {
    std::vector<double>& at = regression.path.emplace_back();
    for (size_t t = 0; t < on_the_way; ++t) at.push_back(in_units(i, fitted.points[t][i]));
  }
  if (!model.converged) return regression;
  for (Eigen::Index i = 0; i < p; ++i) {
    const data::ModelColumn& column = spec.columns[static_cast<size_t>(i)];
    const double unit = spec.scale / column.scale;
    Coefficient coefficient;
    coefficient.term = column.name;
    coefficient.estimate = in_units(i, fitted.points.back()[i]);
    coefficient.standard_error = model.standard_errors[i] * unit;
    coefficient.step = fitted.estimate_steps[i] * unit;
    coefficient.inference =
        stats::glm::Infer(coefficient.estimate, coefficient.standard_error, {}, spec.confidence);
    regression.coefficients.push_back(std::move(coefficient));
  }
  TakeCovariance(spec, model.covariance, model.covariance_steps, regression);
  regression.between = Variance(task, fitted, 0, spec.scale);
  regression.slope = Variance(task, fitted, 1, of_slope);
  regression.within = Variance(task, fitted, 3, spec.scale);
  const stats::glm::Inference z = stats::glm::Infer(
      fitted.points.back()[p + 2], model.standard_errors[p + 2], {}, spec.confidence);
  regression.slope_correlation = {std::tanh(fitted.points.back()[p + 2]), std::tanh(z.lower),
                                  std::tanh(z.upper)};
  const auto n = static_cast<double>(model.rows), columns = static_cast<double>(p);
  const double freedom = n - (spec.reml() ? columns : 0);
  regression.log_likelihood = model.log_likelihood - freedom * std::log(spec.scale);
  // |X'X| of scaled columns.
  if (spec.reml()) {
    for (const data::ModelColumn& column : spec.columns)
      regression.log_likelihood -= std::log(column.scale);
  }
  const auto parameters = static_cast<double>(task.num_parameters());
  regression.aic = 2 * parameters - 2 * regression.log_likelihood;
  regression.bic = std::log(n) * parameters - 2 * regression.log_likelihood;
  WarnOfFew(task, model.rows, model.groups, regression.warnings);
  return regression;
}

}  // namespace

Regression RegressionOf(const Task& task, const PathFitted& fitted) {
  if (task.spec.slope) return SlopeRegression(task, fitted);
  const Spec& spec = task.spec;
  const PathModel& model = fitted.model.value();
  const auto p = static_cast<Eigen::Index>(task.num_columns());
  Regression regression;
  regression.converged = model.converged;
  regression.rows = model.rows;
  regression.groups = model.groups;
  for (Eigen::Index i = 0; i <= p; ++i) {
    const double scale = i < p ? spec.columns[static_cast<size_t>(i)].scale : 1;
    std::vector<double>& at = regression.path.emplace_back();
    // The last one is the estimates, if they are any.
    const size_t on_the_way = fitted.points.size() - (model.converged ? 1 : 0);
    for (size_t t = 0; t < on_the_way; ++t) at.push_back(fitted.points[t][i] / scale);
  }
  if (!model.converged) return regression;
  const Eigen::VectorXd& last = fitted.points.back();
  const double tau = last[p];
  regression.singular = tau == 0;
  for (Eigen::Index i = 0; i < p; ++i) {
    const data::ModelColumn& column = spec.columns[static_cast<size_t>(i)];
    Coefficient coefficient;
    coefficient.term = column.name;
    coefficient.estimate = last[i] / column.scale;
    coefficient.standard_error = model.standard_errors[i] / column.scale;
    coefficient.step = fitted.estimate_steps[i] / column.scale;
    coefficient.inference =
        stats::glm::Infer(coefficient.estimate, coefficient.standard_error, {}, spec.confidence);
    regression.coefficients.push_back(std::move(coefficient));
  }
  TakeCovariance(spec, model.covariance, model.covariance_steps, regression);
  if (!regression.singular) {
    const double log_error = 2 * model.standard_errors[p] / tau;
    regression.between = OnLogScale(tau * tau, log_error * log_error, spec.confidence);
  }
  const auto n = static_cast<double>(model.rows);
  const double parameters = static_cast<double>(p) + 1;
  regression.log_likelihood = model.log_likelihood;
  regression.aic = 2 * parameters - 2 * model.log_likelihood;
  regression.bic = std::log(n) * parameters - 2 * model.log_likelihood;
  if (regression.singular) {
    regression.warnings.emplace_back(
        "The fit is singular: the variance between groups is estimated as 0, so that the rest is a "
        "regression without groups. With few groups this happens though they differ.");
  }
  WarnOfFew(task, model.rows, model.groups, regression.warnings);
  return regression;
}

}  // namespace partita::methods::mixed
