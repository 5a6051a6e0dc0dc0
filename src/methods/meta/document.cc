#include "methods/meta/document.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace partita::methods::meta {
namespace {

using Json = nlohmann::ordered_json;
using stats::meta::Summary;

// Below it tau^2 is hardly known.
constexpr uint64_t kFewSites = 5;

Summary SummaryOf(const Spec& spec, const OpenedPool& pool) {
  return stats::meta::Summarise({static_cast<double>(pool.sites), pool.estimate,
                                 pool.standard_error, pool.tau_squared, pool.q},
                                spec.hartung_knapp, spec.confidence);
}

std::string PercentText(double confidence) { return fmt::format("{:g} %", 100 * confidence); }

struct Line {
  std::string name;
  double estimate = 0, lower = 0, upper = 0;
};

// Sites with their own normal intervals, the pooled estimate, and where a new site is expected.
std::vector<Line> LinesOf(const Spec& spec, const std::vector<std::string>& names,
                          const OpenedPool& pool, const Summary& summary,
                          const std::optional<std::vector<SiteEstimate>>& sites) {
  std::vector<Line> lines;
  for (size_t s = 0; sites && s < sites->size(); ++s) {
    const SiteEstimate& site = (*sites)[s];
    if (!site.usable) continue;
    const Summary own = stats::meta::Summarise({2, site.estimate, site.standard_error, 0, 0}, false,
                                               spec.confidence);
    lines.push_back({names[s], site.estimate, own.lower, own.upper});
  }
  lines.push_back({"pooled", pool.estimate, summary.lower, summary.upper});
  if (!spec.fixed())
    lines.push_back({"a new site", pool.estimate, summary.new_lower, summary.new_upper});
  return lines;
}

study::DocumentTable PooledTable(const Spec& spec, const OpenedPool& pool, const Summary& summary) {
  study::DocumentTable table;
  table.columns = {"pooled",     "estimate",
                   "std. error", summary.df ? "t" : "z",
                   "p-value",    PercentText(spec.confidence) + " from",
                   "to"};
  table.rows.push_back({spec.pooled_name(), pool.estimate, pool.standard_error, summary.statistic,
                        summary.p_value, summary.lower, summary.upper});
  return table;
}

study::DocumentTable LineTable(const Spec& spec, const std::vector<Line>& lines) {
  study::DocumentTable table;
  table.columns = {"of", spec.ratios ? "ratio" : "estimate", PercentText(spec.confidence) + " from",
                   "to"};
  for (const Line& line : lines) {
    const auto shown = [&](double value) { return spec.ratios ? std::exp(value) : value; };
    table.rows.push_back({line.name, shown(line.estimate), shown(line.lower), shown(line.upper)});
  }
  return table;
}

study::DocumentIntervals ForestPlot(const Spec& spec, const std::vector<Line>& lines) {
  study::DocumentIntervals plot{
      "Forest plot", spec.ratios ? "ratio" : spec.pooled_name(), spec.ratios, {}};
  for (const Line& line : lines) {
    const auto shown = [&](double value) { return spec.ratios ? std::exp(value) : value; };
    plot.rows.push_back({line.name, shown(line.lower), shown(line.estimate), shown(line.upper)});
  }
  return plot;
}

study::DocumentTable HeterogeneityTable(const Spec& spec, const OpenedPool& pool,
                                        const Summary& summary) {
  study::DocumentTable table;
  table.columns = {"heterogeneity", "value"};
  const auto add = [&](const char* name, double value) { table.rows.push_back({name, value}); };
  add("sites", static_cast<double>(pool.sites));
  if (!spec.fixed()) {
    add("tau^2", pool.tau_squared);
    add("tau", std::sqrt(pool.tau_squared));
  }
  add("Q", pool.q);
  add("degrees of freedom", summary.q_df);
  add("p-value of Q", summary.q_p_value);
  add("I^2 in %", 100 * summary.i_squared);
  return table;
}

Json SiteJson(const std::string& name, const SiteEstimate& site) {
  Json json = {{"site", name}, {"estimate", nullptr}, {"standard_error", nullptr}};
  if (!site.usable) return json;
  json["estimate"] = site.estimate;
  json["standard_error"] = site.standard_error;
  return json;
}

std::string JsonOf(const Task& task, const std::vector<std::string>& names, const OpenedPool& pool,
                   const Summary& summary, const std::optional<std::vector<SiteEstimate>>& sites) {
  const Spec& spec = task.spec;
  Json json = {{"of", spec.pooled_name()},
               {"formula", spec.model ? Json(spec.model->formula) : Json(nullptr)},
               {"level", spec.site_estimates ? kSiteEstimates : kPooled},
               {"estimator", EstimatorName(spec.estimator)},
               {"hartung_knapp", spec.hartung_knapp},
               {"ratios", spec.ratios},
               {"confidence", spec.confidence},
               {"sites", pool.sites},
               {"without_estimate", task.holders.size() - pool.sites},
               {"estimate", pool.estimate},
               {"standard_error", pool.standard_error},
               {"step", nullptr},
               {"statistic", summary.statistic},
               {"df", nullptr},
               {"p_value", summary.p_value},
               {"lower", summary.lower},
               {"upper", summary.upper},
               {"tau_squared", pool.tau_squared},
               {"q", pool.q},
               {"q_df", summary.q_df},
               {"q_p_value", summary.q_p_value},
               {"i_squared", summary.i_squared},
               {"new_site", nullptr},
               {"by_site", nullptr}};
  if (pool.step > 0) json["step"] = pool.step;
  if (summary.df) json["df"] = *summary.df;
  if (!spec.fixed())
    json["new_site"] = {{"lower", summary.new_lower}, {"upper", summary.new_upper}};
  if (sites) {
    json["by_site"] = Json::array();
    for (size_t s = 0; s < sites->size(); ++s)
      json["by_site"].push_back(SiteJson(names[s], (*sites)[s]));
  }
  return json.dump();
}

std::string ModelSentence(const Spec& spec) {
  if (spec.fixed()) return "Fixed effect: the sites estimate one number.";
  return fmt::format(
      "Random effects: tau^2 by {}; {}.",
      spec.estimator == stats::meta::Estimator::kReml ? "REML" : "DerSimonian and Laird",
      spec.hartung_knapp ? "standard error and intervals of Hartung and Knapp"
                         : "normal intervals");
}

}  // namespace

study::Document MetaDocument(const std::string& title, const Task& task,
                             const std::vector<std::string>& names, const OpenedPool& pool,
                             const std::optional<std::vector<SiteEstimate>>& sites) {
  const Spec& spec = task.spec;
  const Summary summary = SummaryOf(spec, pool);
  const std::vector<Line> lines = LinesOf(spec, names, pool, summary, sites);
  study::Document document;
  document.title = title;
  document.json = JsonOf(task, names, pool, summary, sites);
  study::DocumentSection pooled{"Pooled estimate", {ModelSentence(spec)}};
  const uint64_t lacking = task.holders.size() - pool.sites;
  if (lacking > 0) {
    pooled.paragraphs.push_back(fmt::format(
        "{} of {} sites brought no estimate and are left out. A model without an estimate often is "
        "one in which an outcome does not occur: what is left is not a random part of the sites.",
        lacking, task.holders.size()));
  }
  pooled.paragraphs.push_back(
      sites
          ? fmt::format("Estimates and standard errors of sites are rounded to a grid of at most "
                        "2^-{} of the standard error, and the rest is computed from them.",
                        task.grid_bits)
          : fmt::format("The estimate and its standard error are rounded to a grid of at most "
                        "2^-{0} of the standard error{1}, Q to one of 2^-{0}; the rest is computed "
                        "from them.",
                        task.grid_bits, spec.fixed() ? "" : ", tau^2 to public values"));
  if (pool.sites < kFewSites && !spec.fixed()) {
    pooled.paragraphs.push_back(fmt::format(
        "There are fewer than {} sites: tau^2, and where a new site is expected, are hardly known.",
        kFewSites));
  }
  pooled.tables = {PooledTable(spec, pool, summary), LineTable(spec, lines)};
  pooled.intervals = {ForestPlot(spec, lines)};
  study::DocumentSection heterogeneity{"Heterogeneity", {}};
  heterogeneity.tables = {HeterogeneityTable(spec, pool, summary)};
  document.sections = {std::move(pooled), std::move(heterogeneity)};
  return document;
}

}  // namespace partita::methods::meta
