#include "methods/mle/report/plot_data.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "methods/mle/report/estimate_rows.h"
#include "methods/mle/report/statements.h"
#include "report/html_run.h"
#include "report/json.h"

namespace partita::methods::mle {
namespace {

using report::HistoryFacts;
using report::Json;
using report::RunFacts;

std::string GroupLabel(const MleResult& result, int group) {
  const auto index = static_cast<size_t>(group) - 1;
  if (group < 1 || result.group_n.size() < 2 || index >= result.group_labels.size()) return {};
  return result.group_labels[index];
}

// A point with its interval; `scale`: what makes standard deviations of its units, NaN where that
// is not known.
struct Interval {
  std::string title;  // of its section
  std::string label, series;
  std::string group;  // empty: of no group, or of the only one
  double estimate = 0, lower = 0, upper = 0, scale = 0;
};

double StandardScale(const stats::ParameterEstimate& estimate) {
  const double scale = estimate.std_all / estimate.estimate;
  return std::isfinite(scale) && scale > 0 ? scale : std::nan("");
}

Interval IntervalOf(const MleResult& result, size_t row) {
  const stats::ParameterEstimate& estimate = ReportedEstimates(result)[row];
  Interval interval;
  interval.label = ParameterName(result.table.rows[row]);
  interval.estimate = estimate.estimate;
  interval.lower = estimate.ci_lower;
  interval.upper = estimate.ci_upper;
  interval.scale = StandardScale(estimate);
  return interval;
}

// Slopes with Student's intervals; intercepts have no scale in common with them.
std::vector<Interval> SlopeIntervals(const MleResult& result) {
  std::vector<Interval> intervals;
  for (const LeastSquares& regression : result.least_squares) {
    for (const LeastSquaresTerm& term : regression.terms) {
      const stats::Parameter& row = result.table.rows[term.row];
      if (row.op != "~" || !std::isfinite(term.ci_lower)) continue;
      Interval interval = IntervalOf(result, term.row);
      interval.title = "Slopes of the regression of " + regression.outcome;
      interval.label = term.name;
      interval.series = interval.group = GroupLabel(result, row.group);
      interval.lower = term.ci_lower;
      interval.upper = term.ci_upper;
      intervals.push_back(std::move(interval));
    }
  }
  return intervals;
}

std::vector<Interval> Intervals(const MleResult& result) {
  if (!result.least_squares.empty()) return SlopeIntervals(result);
  std::vector<Interval> intervals;
  for (const EstimateSection& section : EstimateSections(result)) {
    for (size_t row : section.rows) {
      if (!HasInterval(result, row)) continue;
      Interval interval = IntervalOf(result, row);
      interval.title = section.title;
      interval.series = interval.group = GroupLabel(result, section.group);
      // Defined parameters belong to no group; the first series shows them.
      if (section.group == 0 && result.group_n.size() > 1)
        interval.series = result.group_labels.front();
      intervals.push_back(std::move(interval));
    }
  }
  return intervals;
}

// Intervals under the same title come together, whatever their group or analysis. One axis is for
// one unit: in standard deviations where all of a section can be, else every label has its own.
Json SectionsJson(const std::vector<Interval>& intervals, bool several) {
  std::vector<std::string> titles;
  std::map<std::string, bool> standardised;
  for (const Interval& interval : intervals) {
    const auto [found, is_new] = standardised.emplace(interval.title, !several);
    if (is_new) titles.push_back(interval.title);
    found->second = found->second && std::isfinite(interval.scale);
  }
  Json sections = Json::array();
  for (const std::string& title : titles) {
    Json rows = Json::array();
    for (const Interval& interval : intervals) {
      if (interval.title != title) continue;
      const double scale = standardised[title] ? interval.scale : 1;
      rows.push_back({{"label", interval.label},
                      {"series", interval.series},
                      {"est", scale * interval.estimate},
                      {"lower", scale * interval.lower},
                      {"upper", scale * interval.upper}});
    }
    sections.push_back({{"title", title},
                        {"scale", standardised[title] ? "standardised" : "own"},
                        {"rows", std::move(rows)}});
  }
  return sections;
}

Json SeriesJson(const MleResult& result) {
  if (result.group_n.size() < 2) return Json::array({""});
  return result.group_labels;
}

std::vector<std::string> Nodes(const MleResult& result) {
  std::vector<std::string> nodes = result.table.latent;
  nodes.insert(nodes.end(), result.table.observed.begin(), result.table.observed.end());
  return nodes;
}

Json GraphJson(const MleResult& result, int group) {
  Json nodes = Json::array(), edges = Json::array();
  if (!HasDiagram(result)) return {{"nodes", nodes}, {"edges", edges}};
  std::map<std::string, size_t> index;
  for (const std::string& name : Nodes(result)) {
    index.emplace(name, nodes.size());
    nodes.push_back({{"name", name}, {"latent", nodes.size() < result.table.latent.size()}});
  }
  for (size_t i = 0; i < result.table.rows.size(); ++i) {
    const stats::Parameter& row = result.table.rows[i];
    const bool path = row.op == "=~" || row.op == "~";
    if (row.group != group || row.exogenous || (!path && row.op != "~~")) continue;
    const double estimate = result.fit.estimates[i].estimate;
    const bool covariance = row.op == "~~";
    if (covariance && (row.lhs == row.rhs || (row.free == 0 && estimate == 0))) continue;
    const auto from = index.find(row.op == "~" ? row.rhs : row.lhs);
    const auto to = index.find(row.op == "~" ? row.lhs : row.rhs);
    if (from == index.end() || to == index.end()) continue;
    edges.push_back({{"from", from->second},
                     {"to", to->second},
                     {"kind", covariance ? "covariance" : "path"},
                     {"est", std::isfinite(estimate) ? Json(estimate) : Json()}});
  }
  return {{"nodes", nodes}, {"edges", edges}};
}

Json HistoryPlotJson(const MleResult& result, const RunFacts& facts) {
  Json points = Json::array();
  const HistoryFacts* history = HistoryOf(result, facts);
  if (history == nullptr) return points;
  for (const report::HistoryPoint& point : history->points) {
    points.push_back({{"iteration", point.iteration},
                      {"log_likelihood", point.log_likelihood},
                      {"max_scaled_gradient", point.max_scaled_gradient}});
  }
  return points;
}

Json AnalysisPlotJson(const MleResult& result, const RunFacts& facts) {
  Json graphs = Json::array();
  for (size_t group = 1; group <= result.group_n.size(); ++group) {
    graphs.push_back(GraphJson(result, static_cast<int>(group)));
  }
  return {{"series", SeriesJson(result)},
          {"sections", SectionsJson(Intervals(result), result.group_n.size() > 1)},
          {"graphs", graphs},
          {"history", HistoryPlotJson(result, facts)}};
}

// What a row is compared as: the parameter, with its group where there are several.
std::vector<Interval> ComparedIntervals(const MleResult& result) {
  std::vector<Interval> intervals = Intervals(result);
  for (Interval& interval : intervals) {
    if (!interval.group.empty()) interval.label += " [" + interval.group + "]";
    interval.series = AnalysisName(result);
  }
  return intervals;
}

// In how many results a label occurs under a title.
using LabelCounts = std::map<std::pair<std::string, std::string>, size_t>;

LabelCounts CountShared(std::span<const MleResult> results) {
  LabelCounts counts;
  for (const MleResult& result : results) {
    std::set<std::pair<std::string, std::string>> names;
    for (const Interval& interval : ComparedIntervals(result))
      names.emplace(interval.title, interval.label);
    for (const auto& name : names) ++counts[name];
  }
  return counts;
}

Json ComparisonJson(std::span<const MleResult> results) {
  const LabelCounts counts = CountShared(results);
  Json series = Json::array();
  std::vector<Interval> shared;
  for (const MleResult& result : results) {
    series.push_back(AnalysisName(result));
    for (Interval& interval : ComparedIntervals(result)) {
      if (counts.at({interval.title, interval.label}) > 1) shared.push_back(std::move(interval));
    }
  }
  return {{"series", series}, {"sections", SectionsJson(shared, true)}};
}

}  // namespace

bool HasComparison(std::span<const MleResult> results) {
  if (results.size() < 2) return false;
  for (const auto& [name, count] : CountShared(results)) {
    if (count > 1) return true;
  }
  return false;
}

bool HasEstimatesPlot(const MleResult& result) { return !Intervals(result).empty(); }

NotDrawn ParametersNotDrawn(const MleResult& result) {
  NotDrawn not_drawn;
  for (const EstimateSection& section : EstimateSections(result)) {
    for (size_t i : section.rows) {
      const stats::Parameter& row = result.table.rows[i];
      if (row.free == 0 && row.op != ":=") {
        ++not_drawn.fixed;
      } else if (!HasInterval(result, i)) {
        const std::string group = GroupLabel(result, row.group);
        not_drawn.without_error.push_back(ParameterName(row) +
                                          (group.empty() ? "" : " [" + group + "]"));
      }
    }
  }
  return not_drawn;
}

bool HasDiagram(const MleResult& result) {
  const size_t nodes = result.table.latent.size() + result.table.observed.size();
  return nodes > 0 && nodes <= kMaxDiagramNodes;
}

const HistoryFacts* HistoryOf(const MleResult& result, const RunFacts& facts) {
  for (const HistoryFacts& history : facts.history) {
    const bool same = history.analysis == result.name || history.analysis == AnalysisName(result);
    if (same && !history.points.empty()) return &history;
  }
  return nullptr;
}

std::string PlotData(std::span<const MleResult> results, const RunFacts& facts) {
  Json analyses = Json::array();
  for (const MleResult& result : results) analyses.push_back(AnalysisPlotJson(result, facts));
  const Json json = {{"analyses", analyses},
                     {"comparison", HasComparison(results) ? ComparisonJson(results) : Json()},
                     {"traffic", Json::parse(report::TrafficData(facts))}};
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace partita::methods::mle
