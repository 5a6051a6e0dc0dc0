#include "methods/mle/report/plot_data.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text_table.h"
#include "methods/mle/report/estimate_rows.h"
#include "methods/mle/report/statements.h"
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

Json IntervalJson(const MleResult& result, size_t row, const std::string& label,
                  const std::string& series) {
  const stats::ParameterEstimate& estimate = ReportedEstimates(result)[row];
  return {{"label", label},
          {"series", series},
          {"est", estimate.estimate},
          {"lower", estimate.ci_lower},
          {"upper", estimate.ci_upper}};
}

// Sections under the same title come together, whatever their group or analysis.
class Sections {
 public:
  void Add(const std::string& title, Json row) {
    const auto [found, is_new] = index_.emplace(title, json_.size());
    if (is_new) json_.push_back({{"title", title}, {"rows", Json::array()}});
    json_[found->second]["rows"].push_back(std::move(row));
  }
  Json Take() { return std::move(json_); }

 private:
  std::map<std::string, size_t> index_;
  Json json_ = Json::array();
};

Json SeriesJson(const MleResult& result) {
  if (result.group_n.size() < 2) return Json::array({""});
  return result.group_labels;
}

Json SectionsJson(const MleResult& result) {
  Sections sections;
  for (const EstimateSection& section : EstimateSections(result)) {
    for (size_t row : section.rows) {
      if (!HasInterval(result, row)) continue;
      std::string series = GroupLabel(result, section.group);
      // Defined parameters belong to no group; the first series shows them.
      if (section.group == 0 && result.group_n.size() > 1) series = result.group_labels.front();
      sections.Add(section.title,
                   IntervalJson(result, row, ParameterName(result.table.rows[row]), series));
    }
  }
  return sections.Take();
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
          {"sections", SectionsJson(result)},
          {"graphs", graphs},
          {"history", HistoryPlotJson(result, facts)}};
}

// What a row is compared as: the parameter, with its group where there are several.
std::string ComparedName(const MleResult& result, size_t row) {
  const stats::Parameter& parameter = result.table.rows[row];
  const std::string group = GroupLabel(result, parameter.group);
  return ParameterName(parameter) + (group.empty() ? "" : " [" + group + "]");
}

std::map<std::string, size_t> CountShared(std::span<const MleResult> results) {
  std::map<std::string, size_t> counts;
  for (const MleResult& result : results) {
    std::set<std::string> names;
    for (const EstimateSection& section : EstimateSections(result)) {
      for (size_t row : section.rows) {
        if (HasInterval(result, row)) names.insert(ComparedName(result, row));
      }
    }
    for (const std::string& name : names) ++counts[name];
  }
  return counts;
}

Json ComparisonJson(std::span<const MleResult> results) {
  const std::map<std::string, size_t> counts = CountShared(results);
  Sections sections;
  Json series = Json::array();
  for (const MleResult& result : results) {
    series.push_back(AnalysisName(result));
    for (const EstimateSection& section : EstimateSections(result)) {
      for (size_t row : section.rows) {
        const std::string name = ComparedName(result, row);
        if (!HasInterval(result, row) || counts.at(name) < 2) continue;
        sections.Add(section.title, IntervalJson(result, row, name, AnalysisName(result)));
      }
    }
  }
  return {{"series", series}, {"sections", sections.Take()}};
}

Json TrafficJson(const RunFacts& facts) {
  Json phases = Json::array();
  double start = 0;
  for (const report::PhaseFacts& phase : facts.phases) {
    std::string note;
    if (phase.bytes_sent + phase.bytes_received > 0) {
      note = FormatBytes(phase.bytes_sent) + " sent, " + FormatBytes(phase.bytes_received) +
             " received";
    }
    phases.push_back(
        {{"phase", phase.phase}, {"start", start}, {"seconds", phase.seconds}, {"note", note}});
    start += phase.seconds;
  }
  return phases;
}

}  // namespace

bool HasComparison(std::span<const MleResult> results) {
  if (results.size() < 2) return false;
  for (const auto& [name, count] : CountShared(results)) {
    if (count > 1) return true;
  }
  return false;
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
                     {"traffic", TrafficJson(facts)}};
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace partita::methods::mle
