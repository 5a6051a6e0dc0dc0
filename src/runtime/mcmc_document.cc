// The report of a chain: posterior summaries, diagnostics, trace and rank plots, draws as files.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "methods/accept/result.h"
#include "runtime/mcmc_study.h"
#include "runtime/plan_privacy.h"

namespace partita::runtime {
namespace {

namespace accept = methods::accept;
using Eigen::Index;

constexpr size_t kTracePoints = 400, kRankBins = 20;
constexpr size_t kMaxPlots = 12;

study::DocumentTable Posterior(const accept::ChainSummary& summary) {
  study::DocumentTable table;
  table.title = "Posterior";
  table.columns = {"parameter", "mean", "sd", "2.5 %", "median", "97.5 %"};
  for (const accept::ParameterResult& p : summary.parameters) {
    table.rows.push_back({p.name, p.mean, p.sd, p.q2_5, p.median, p.q97_5});
  }
  return table;
}

study::DocumentTable Diagnostics(const accept::ChainSummary& summary) {
  study::DocumentTable table;
  table.title = "Diagnostics";
  table.columns = {"parameter", "R-hat", "bulk ESS", "tail ESS", "error of the mean"};
  for (const accept::ParameterResult& p : summary.parameters) {
    table.rows.push_back({p.name, p.rhat, p.bulk_ess, p.tail_ess, p.mcse_mean});
  }
  return table;
}

study::DocumentPlot Trace(const std::string& name, size_t parameter,
                          const stats::mcmc::Draws& draws) {
  study::DocumentPlot plot{"Trace of " + name, "draw", name, {}};
  for (size_t c = 0; c < draws.chains.size(); ++c) {
    const auto column = draws.chains[c].col(static_cast<Index>(parameter));
    const Index every = std::max<Index>(1, column.size() / static_cast<Index>(kTracePoints));
    study::DocumentSeries series{fmt::format("chain {}", c + 1), {}, {}};
    for (Index i = 0; i < column.size(); i += every) {
      series.x.push_back(static_cast<double>(i + 1));
      series.y.push_back(column(i));
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

study::DocumentPlot Ranks(const std::string& name, size_t parameter,
                          const stats::mcmc::Draws& draws) {
  study::DocumentPlot plot{"Ranks of " + name, "rank among all draws", "draws", {}};
  const auto counts = accept::RankCounts(draws, parameter, kRankBins);
  for (size_t c = 0; c < counts.size(); ++c) {
    study::DocumentSeries series{fmt::format("chain {}", c + 1), {}, counts[c]};
    for (size_t bin = 0; bin < kRankBins; ++bin) {
      series.x.push_back((static_cast<double>(bin) + 0.5) / static_cast<double>(kRankBins));
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

std::string Json(const McmcStudy& study, const accept::ChainSummary& summary) {
  nlohmann::ordered_json parameters = nlohmann::ordered_json::array();
  for (const accept::ParameterResult& p : summary.parameters) {
    parameters.push_back({{"name", p.name},
                          {"mean", p.mean},
                          {"sd", p.sd},
                          {"mcse_mean", p.mcse_mean},
                          {"q2_5", p.q2_5},
                          {"median", p.median},
                          {"q97_5", p.q97_5},
                          {"rhat", p.rhat},
                          {"bulk_ess", p.bulk_ess},
                          {"tail_ess", p.tail_ess}});
  }
  const nlohmann::ordered_json json = {
      {"parameters", parameters},
      {"acceptance_rate", summary.acceptance_rate},
      {"decisions", summary.decisions},
      {"ess_per_decision", summary.ess_per_decision},
      {"converged", summary.converged},
      {"warnings", summary.warnings},
      {"privacy", nlohmann::ordered_json::parse(privacy::StatementJson(study.statement))}};
  return json.dump();
}

study::DocumentSection PrivacySection(const McmcStudy& study, const accept::ChainSummary& summary) {
  study::DocumentSection section{"What the decisions tell"};
  if (!study.IsPrivate()) {
    section.paragraphs.emplace_back(
        "Nobody learned a likelihood, but no bound is claimed for what the draws say about one "
        "person.");
    return section;
  }
  const double epsilon = study.statement.rows.front().loss.epsilon_upper;
  const double effective = summary.ess_per_decision * static_cast<double>(summary.decisions);
  section.paragraphs.push_back(fmt::format(
      "All {} decisions together: epsilon at most {} at delta = {} against whoever takes "
      "no part and sees the draws; {} per effective draw of the parameter that mixes "
      "worst. Those who take part know more:",
      summary.decisions, privacy::RoundedText(epsilon, 3, true), study.spec.privacy->delta,
      privacy::RoundedText(epsilon / effective, 2, true)));
  for (const study::PlanPrivacy& row : PlanPrivacyRows(study.statement)) {
    section.paragraphs.push_back(row.adversary +
                                 (row.adjacency.empty() ? "" : " (" + row.adjacency + ")") + ": " +
                                 row.loss + ".");
  }
  section.paragraphs.insert(section.paragraphs.end(), study.statement.caveats.begin(),
                            study.statement.caveats.end());
  return section;
}

}  // namespace

study::Document McmcDocument(const McmcStudy& study, const accept::ChainResult& result) {
  const accept::ChainSummary summary =
      accept::SummariseChain(study.chain, study.parameters, result);
  study::Document document;
  document.title = fmt::format("Posterior of {}", study.file.analyses.front().name);
  study::DocumentSection posterior{"Posterior", {}, {Posterior(summary), Diagnostics(summary)}};
  posterior.paragraphs.push_back(fmt::format(
      "{} chains of {} draws, {:.3g} % of the proposals accepted.", result.draws.chains.size(),
      result.draws.chains.front().rows(), 100 * summary.acceptance_rate));
  if (!summary.converged) {
    posterior.paragraphs.emplace_back(
        "The chains have not converged: R-hat must be below 1.01 and both effective sample sizes "
        "above 400. Do not use these numbers; take more draws.");
  }
  posterior.paragraphs.insert(posterior.paragraphs.end(), summary.warnings.begin(),
                              summary.warnings.end());
  document.sections.push_back(std::move(posterior));
  document.sections.push_back(PrivacySection(study, summary));
  study::DocumentSection plots{"Chains"};
  for (size_t j = 0; j < std::min(study.parameters.size(), kMaxPlots); ++j) {
    plots.plots.push_back(Trace(study.parameters[j], j, result.draws));
    plots.plots.push_back(Ranks(study.parameters[j], j, result.draws));
  }
  document.sections.push_back(std::move(plots));
  document.json = Json(study, summary);
  document.files.push_back({"draws.csv", accept::DrawsCsv(study.parameters, result.draws)});
  for (size_t c = 0; c < result.draws.chains.size(); ++c) {
    document.files.push_back(
        {fmt::format("stan-{}.csv", c + 1), accept::StanCsv(study.parameters, result.draws, c)});
  }
  document.converged = summary.converged;
  return document;
}

}  // namespace partita::runtime
