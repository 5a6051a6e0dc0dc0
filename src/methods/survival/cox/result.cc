#include "methods/survival/cox/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>

namespace partita::methods::survival {
namespace {

constexpr uint64_t kEventsForColumn = 10, kManyClusters = 40;

// A statistic below 0 is one of 0 on its grid.
CoxTest CoxTestOf(double chi_square, size_t df) {
  const double value = std::max(chi_square, 0.0);
  const boost::math::chi_squared law(static_cast<double>(df));
  return {value, boost::math::cdf(boost::math::complement(law, value))};
}

void AddHazards(const CoxTask& task, const data::Schema& factors, const CoxFitted& fitted,
                CoxResult& result) {
  const CoxSpec& spec = task.spec;
  const CoxModel& model = *fitted.model;
  double of_middles = 0;
  for (size_t c = 0; c < spec.columns.size(); ++c) {
    of_middles += fitted.points.back()[static_cast<Eigen::Index>(c)] * MiddleOf(spec.columns[c]) /
                  HalfOf(spec.columns[c]);
  }
  for (size_t s = 0; s < model.shows_hazard.size(); ++s) {
    const std::string stratum = spec.stratum.empty() ? "" : factors.Find(spec.stratum)->levels[s];
    if (!model.shows_hazard[s]) {
      result.withheld_hazards.push_back(stratum.empty() ? "all" : stratum);
      continue;
    }
    for (size_t r = 0; r < spec.report.size(); ++r) {
      const size_t place = s * spec.report.size() + r;
      ReportedHazard hazard{stratum, spec.grid.End(spec.report[r]), 0, 0,
                            model.hazard_steps[place]};
      if (hazard.step_of_log > 0) {
        hazard.at_middle = std::exp(model.log_hazards[place]);
        hazard.at_zero = std::exp(model.log_hazards[place] - of_middles);
      }
      result.hazards.push_back(std::move(hazard));
    }
  }
}

}  // namespace

CoxResult CoxResultOf(const CoxTask& task, const data::Schema& factors, const CoxFitted& fitted) {
  const CoxSpec& spec = task.spec;
  const CoxModel& model = *fitted.model;
  const size_t p = spec.columns.size();
  CoxResult result;
  result.converged = model.converged;
  result.rows = model.rows;
  result.events = model.events;
  result.clusters = model.clusters;
  const Eigen::VectorXd& last = fitted.points.back();
  const Eigen::VectorXd& before = fitted.points[fitted.points.size() - 2];
  for (size_t c = 0; c < p; ++c) {
    const auto i = static_cast<Eigen::Index>(c);
    CoxPath row{spec.columns[c].name, {}};
    for (const Eigen::VectorXd& point : fitted.points)
      row.at.push_back(point[i] / HalfOf(spec.columns[c]));
    result.path.push_back(std::move(row));
    if (std::abs(last[i] - before[i]) > std::ldexp(fitted.estimate_steps[i], task.grid_bits))
      result.moving.push_back(spec.columns[c].name);
  }
  if (!model.converged) return result;
  for (size_t c = 0; c < p; ++c) {
    const auto i = static_cast<Eigen::Index>(c);
    const double unit = 1 / HalfOf(spec.columns[c]);
    CoxCoefficient coefficient;
    coefficient.term = spec.columns[c].name;
    coefficient.estimate = last[i] * unit;
    coefficient.standard_error = model.standard_errors[i] * unit;
    coefficient.step = fitted.estimate_steps[i] * unit;
    coefficient.inference =
        stats::glm::Infer(coefficient.estimate, coefficient.standard_error, {}, spec.confidence);
    result.coefficients.push_back(std::move(coefficient));
  }
  if (spec.covariance) {
    Eigen::VectorXd units(static_cast<Eigen::Index>(p));
    for (size_t c = 0; c < p; ++c)
      units[static_cast<Eigen::Index>(c)] = 1 / HalfOf(spec.columns[c]);
    result.covariance = units.asDiagonal() * model.covariance * units.asDiagonal();
    result.covariance_steps = units.cwiseProduct(model.steps);
  }
  result.null_log_likelihood = model.totals[0];
  result.log_likelihood = model.totals[1];
  result.aic = 2 * static_cast<double>(p) - 2 * model.totals[1];
  result.likelihood_ratio = CoxTestOf(2 * (model.totals[1] - model.totals[0]), p);
  result.score = CoxTestOf(model.totals[2], p);
  // On the grid kNoTest is itself.
  if (!spec.robust || model.totals[3] > kNoTest / 2) result.wald = CoxTestOf(model.totals[3], p);
  if (!result.wald) {
    result.warnings.emplace_back(
        "There is no Wald test of all terms: in some direction of the columns the rows differ too "
        "little in what they add to the score.");
  }
  for (size_t c = 0; model.proportional && c <= p; ++c)
    result.proportional.push_back(CoxTestOf(model.totals[kCoxTotals + c], c < p ? 1 : p));
  if (spec.concordance && model.totals.back() > 0)
    result.concordance = std::ldexp(model.totals.back(), -kConcordanceLog2);
  AddHazards(task, factors, fitted, result);
  if (spec.proportional && !model.proportional) {
    result.warnings.emplace_back(
        "The tests of proportional hazards could not be computed: in some direction of the columns "
        "the events say nothing of a change with time.");
  }
  if (model.events < kEventsForColumn * p) {
    result.warnings.push_back(fmt::format(
        "There are fewer than {} events for each column: estimates are biased away from 0, and "
        "intervals are too narrow.",
        kEventsForColumn));
  }
  if (spec.clustered() && model.clusters < kManyClusters) {
    result.warnings.push_back(fmt::format(
        "There are {} clusters, fewer than {}: standard errors of clusters are too small on "
        "average.",
        model.clusters, kManyClusters));
  }
  return result;
}

}  // namespace partita::methods::survival
