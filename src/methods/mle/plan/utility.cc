#include "methods/mle/plan/utility.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/progress.h"
#include "methods/mle/study/private_study.h"

namespace partita::methods::mle {
namespace {

using run::Forecast;

// A third of half the range; a 0/1 column as if both were equally frequent.
double DefaultSd(const data::ColumnSchema& column) {
  const double range = column.upper - column.lower;
  return column.lower == 0 && column.upper == 1 ? range / 2 : range / 6;
}

Eigen::VectorXd PlanningSds(const MleStudy& study, size_t analysis) {
  const std::map<std::string, double>& given =
      MleOf(study.file.analyses[analysis]).privacy->planning_sd;
  const std::vector<data::DesignColumn>& columns = study.analyses[analysis].analysis.variables;
  Eigen::VectorXd sds(static_cast<Eigen::Index>(columns.size()));
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto found = given.find(columns[i].schema.name);
    sds[static_cast<Eigen::Index>(i)] =
        found != given.end() ? found->second : DefaultSd(columns[i].schema);
  }
  return sds;
}

int Rank(const stats::Parameter& row) {
  if (row.op == "~") return 0;
  return row.op == "=~" ? 1 : 2;
}

std::string EstimateName(const stats::ParameterTable& table, const stats::Parameter& row) {
  std::string name = row.lhs + " " + row.op + (row.rhs.empty() ? "" : " " + row.rhs);
  if (table.groups.size() > 1)
    name += " (group " + table.groups.at(static_cast<size_t>(row.group - 1)) + ")";
  return name;
}

// Rows of the table, most wanted first: the first of every free parameter.
std::vector<size_t> FreeRows(const stats::ParameterTable& table) {
  std::vector<size_t> rows;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    if (table.rows[r].free > 0) rows.push_back(r);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](size_t a, size_t b) { return Rank(table.rows[a]) < Rank(table.rows[b]); });
  return rows;
}

void ForecastAnalysis(const MleStudy& study, size_t index, Forecast& forecast) {
  const MleAnalysis& analysis = study.analyses[index].analysis;
  const std::string& name = study.file.analyses[index].name;
  const stats::MomentNoise noise = NoiseOf(analysis, *study.privacy);
  const Eigen::VectorXd sds = PlanningSds(study, index);
  const auto rows = static_cast<double>(PlanningRows(study, index));
  SilentProgress progress;
  stats::SemFitOptions options;
  stats::SemFit exact, noised;
  try {
    const std::vector<stats::GroupMoments> moments =
        stats::PlanningMoments(analysis.table, noise.scale.centre, sds, rows);
    exact = stats::FitSem(analysis.table, moments, options, progress);
    noised = exact;
    stats::AddNoise(analysis.table, moments, noise, options, noised);
  } catch (const Error& error) {
    forecast.notes.push_back(
        fmt::format("No forecast for analysis '{}': {}.", name, error.message()));
    return;
  }
  for (size_t r : FreeRows(analysis.table)) {
    const double without = exact.estimates[r].standard_error;
    const double with = noised.estimates[r].standard_error;
    if (!std::isfinite(without) || !std::isfinite(with) || without <= 0) continue;
    forecast.rows.push_back({name, EstimateName(analysis.table, analysis.table.rows[r]), without,
                             with / without, kDetectable * without, kDetectable * with});
  }
  const double length = sds.cwiseQuotient(noise.scale.half_width).norm();
  forecast.notes.push_back(fmt::format(
      "Forecast for analysis '{}': {} rows, standard deviations from planning_sd or a sixth of the "
      "range; a typical row has the norm {:.3g} and is shortened beyond {:.3g}, which the forecast "
      "leaves out.",
      name, PlanningRows(study, index), length, study.privacy->promise.norm));
}

const study::PlanUtility* Worst(const std::vector<study::PlanUtility>& rows) {
  const auto worst = std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.inflation < b.inflation;
  });
  return worst == rows.end() ? nullptr : &*worst;
}

constexpr char kWhatHelps[] =
    "more rows, a larger epsilon, fewer variables, or tighter bounds of the variables and with "
    "them a norm that fits the rows";

}  // namespace

Forecast ForecastUtility(const MleStudy& study) {
  Forecast forecast;
  if (!study.privacy) return forecast;
  for (size_t a = 0; a < study.analyses.size(); ++a) ForecastAnalysis(study, a, forecast);
  forecast.helps = kWhatHelps;
  const study::PlanUtility* worst = Worst(forecast.rows);
  if (worst != nullptr && worst->inflation > kRefuseInflation) {
    forecast.useless = fmt::format(
        "the privacy noise makes the standard error of {} in analysis '{}' {:.3g} times as large, "
        "from {:.3g} to {:.3g}",
        worst->parameter, worst->analysis, worst->inflation, worst->standard_error,
        worst->inflation * worst->standard_error);
  }
  if (worst != nullptr && worst->inflation > kWarnInflation) {
    forecast.notes.push_back(fmt::format(
        "WARNING: the privacy noise makes the standard error of {} in analysis '{}' {:.3g} times "
        "as large. What helps: {}.",
        worst->parameter, worst->analysis, worst->inflation, kWhatHelps));
  }
  return forecast;
}

}  // namespace partita::methods::mle
