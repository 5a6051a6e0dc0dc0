#include "methods/mcmc/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "stats/mcmc/diagnostics.h"

namespace partita::methods::mcmc {
namespace {

using Eigen::Index;
using stats::mcmc::Draws;

// Nested R-hat sees what chains remember of where they began only if that was further apart than
// they are in the end.
std::string StartsWarning(const ChainPlan& plan, const std::vector<std::string>& names,
                          const std::vector<stats::mcmc::ParameterSummary>& summaries) {
  std::string narrow;
  for (size_t j = 0; j < names.size(); ++j) {
    const auto starts = plan.start.row(static_cast<Index>(j)).array();
    const double spread = std::sqrt((starts - starts.mean()).square().mean());
    if (spread < summaries[j].sd) narrow += (narrow.empty() ? "" : ", ") + names[j];
  }
  if (narrow.empty()) return "";
  return fmt::format(
      "Superchains began closer together than the posterior of {} is wide: R-hat may be near 1 "
      "although chains remember where they began. Take a larger 'spread'.",
      narrow);
}

std::vector<std::string> WarningsOf(const ChainPlan& plan, const std::vector<std::string>& names,
                                    const ChainResult& result) {
  std::vector<std::string> warnings;
  for (size_t j = 0; j < names.size(); ++j) {
    if (plan.priors[j].kind != stats::mcmc::PriorKind::kFlat) continue;
    warnings.push_back(fmt::format(
        "The prior of {} is flat: it is no distribution, and the posterior need not be one.",
        names[j]));
  }
  for (size_t c = 0; c < result.draws.chains.size(); ++c) {
    if (!stats::mcmc::NeverMoved(result.draws.chains[c])) continue;
    warnings.push_back(fmt::format(
        "Chain {} accepted no proposal after the warm-up: its draws are one point. Take a smaller "
        "step, or a longer warm-up.",
        c + 1));
  }
  if (result.skipped > 0) {
    warnings.push_back(fmt::format(
        "{} lost when the run was interrupted; the chains stood still there.",
        result.skipped == 1 ? "1 decision was" : fmt::format("{} decisions were", result.skipped)));
  }
  return warnings;
}

}  // namespace

ChainSummary SummariseChain(const ChainPlan& plan, const std::vector<std::string>& names,
                            const ChainResult& result) {
  ChainSummary summary;
  summary.acceptance_rate = result.draws.acceptance_rate;
  summary.decisions = result.draws.decisions;
  summary.converged = stats::mcmc::HaveConverged(result.draws);
  double smallest = HUGE_VAL;
  const auto all = stats::mcmc::Summarise(result.draws);
  for (size_t j = 0; j < names.size(); ++j) {
    const stats::mcmc::ParameterSummary& s = all[j];
    summary.parameters.push_back({names[j], s.mean, s.sd, s.mcse_mean, s.q2_5, s.median, s.q97_5,
                                  s.rhat, s.bulk_ess, s.tail_ess});
    smallest = std::min(smallest, s.bulk_ess);
  }
  summary.ess_per_decision = smallest / static_cast<double>(summary.decisions);
  summary.superchains = result.draws.superchains;
  summary.warnings = WarningsOf(plan, names, result);
  if (summary.superchains == 0) return summary;
  const std::string starts = StartsWarning(plan, names, all);
  if (!starts.empty()) summary.warnings.push_back(starts);
  return summary;
}

std::string DrawsCsv(const std::vector<std::string>& names, const Draws& draws) {
  std::string csv = "chain,iteration,draw";
  for (const std::string& name : names) csv += "," + name;
  csv += "\n";
  size_t draw = 0;
  for (size_t c = 0; c < draws.chains.size(); ++c) {
    for (Index i = 0; i < draws.chains[c].rows(); ++i) {
      csv += fmt::format("{},{},{}", c + 1, i + 1, ++draw);
      for (const double value : draws.chains[c].row(i)) csv += fmt::format(",{}", value);
      csv += "\n";
    }
  }
  return csv;
}

std::string StanCsv(const std::vector<std::string>& names, const Draws& draws, size_t chain) {
  if (chain >= draws.chains.size()) {
    throw Error(ErrorCode::kUsage, fmt::format("there is no chain {}", chain + 1));
  }
  const Eigen::MatrixXd& values = draws.chains[chain];
  std::string csv = fmt::format(
      "# method = sample (Default)\n#   sample\n#     num_samples = {}\n#     save_warmup = 0\n"
      "# id = {}\nlp__",
      values.rows(), chain + 1);
  for (const std::string& name : names) csv += "," + name;
  csv += "\n";
  for (Index i = 0; i < values.rows(); ++i) {
    csv += "0";
    for (const double value : values.row(i)) csv += fmt::format(",{}", value);
    csv += "\n";
  }
  return csv;
}

std::vector<std::vector<double>> RankCounts(const Draws& draws, size_t parameter, size_t bins) {
  struct Draw {
    double value;
    size_t line;
  };
  const size_t lines = draws.superchains > 0 ? draws.superchains : draws.chains.size();
  const size_t members = draws.chains.size() / lines;
  std::vector<Draw> all;
  for (size_t c = 0; c < draws.chains.size(); ++c) {
    for (const double value : draws.chains[c].col(static_cast<Index>(parameter))) {
      all.push_back({value, c / members});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Draw& a, const Draw& b) { return a.value < b.value; });
  std::vector<std::vector<double>> counts(lines, std::vector<double>(bins));
  for (size_t rank = 0; rank < all.size(); ++rank) {
    counts[all[rank].line][rank * bins / all.size()] += 1;
  }
  return counts;
}

}  // namespace partita::methods::mcmc
