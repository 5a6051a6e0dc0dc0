// The report of a chain: posterior summaries, diagnostics, trace and rank plots, draws as files.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "methods/mcmc/plots.h"
#include "methods/mcmc/predictive_checks.h"
#include "methods/mcmc/prior_sensitivity.h"
#include "methods/mcmc/result.h"
#include "methods/mcmc/study.h"
#include "privacy/rounded_text.h"
#include "run/method/plan_privacy.h"

namespace partita::methods::mcmc {
namespace {

study::DocumentTable Posterior(const ChainSummary& summary) {
  study::DocumentTable table;
  table.title = "Summary of the draws";
  table.columns = {"parameter", "mean", "sd", "2.5 %", "median", "97.5 %"};
  for (const ParameterResult& p : summary.parameters) {
    table.rows.push_back({p.name, p.mean, p.sd, p.q2_5, p.median, p.q97_5});
  }
  return table;
}

study::DocumentTable Diagnostics(const ChainSummary& summary) {
  study::DocumentTable table;
  table.title = "Diagnostics";
  table.columns = {"parameter", "R-hat", "bulk ESS", "tail ESS", "error of the mean"};
  for (const ParameterResult& p : summary.parameters) {
    table.rows.push_back({p.name, p.rhat, p.bulk_ess, p.tail_ess, p.mcse_mean});
  }
  return table;
}

// exp of what the model adds up, where that has a name: quantiles of the ratio are those of its
// logarithm.
std::optional<study::DocumentTable> Ratios(const McmcStudy& study, const ChainSummary& summary) {
  const std::string unit = CoefficientUnit(study.spec.model);
  if (unit.empty() || study.spec.predictors.empty()) return std::nullopt;
  const std::string ratio = unit.substr(std::string("log ").size());
  study::DocumentTable table;
  table.title = std::string(1, static_cast<char>(std::toupper(ratio[0]))) + ratio.substr(1) + "s";
  table.columns = {"per unit of", ratio + ", median", "2.5 %", "97.5 %"};
  for (const ParameterResult& p : summary.parameters) {
    const auto& names = study.spec.predictors;
    if (std::find(names.begin(), names.end(), p.name) == names.end()) continue;
    table.rows.push_back({p.name, std::exp(p.median), std::exp(p.q2_5), std::exp(p.q97_5)});
  }
  return table;
}

// Of chains that may go on.
std::string MadeText(const stats::mcmc::ChainOptions& options, const stats::mcmc::Draws& draws) {
  return fmt::format(
      "{} of at most {} decisions were made in each chain: {} of the {} stages. Only the last {} "
      "gave draws, one of {} of them; those before are warm-up.",
      stats::mcmc::DecisionsBefore(options, draws.stages), stats::mcmc::DecisionsOf(options),
      draws.stages, stats::mcmc::StagesOf(options),
      stats::mcmc::DecisionsOfStage(options, draws.stages - 1) - options.warmup,
      uint64_t{options.thin} << (draws.stages - 1));
}

nlohmann::ordered_json SensitivityJson(const PriorSensitivity& sensitivity) {
  const auto scaled = [](double power, const ScaledPosterior& at) {
    return nlohmann::ordered_json{{"power", power}, {"shift", at.shift}, {"scale", at.scale}};
  };
  nlohmann::ordered_json parameters = nlohmann::ordered_json::array();
  for (const ParameterSensitivity& p : sensitivity.parameters) {
    parameters.push_back({{"name", p.name},
                          {"weaker", scaled(kWeakerPrior, p.weaker)},
                          {"stronger", scaled(kStrongerPrior, p.stronger)},
                          {"sensitive", p.sensitive()}});
  }
  return {{"effective_draws", sensitivity.effective_draws}, {"parameters", parameters}};
}

study::DocumentSection SensitivitySection(const PriorSensitivity& sensitivity) {
  study::DocumentSection section{"Sensitivity to the priors"};
  std::string sensitive;
  study::DocumentTable table{
      fmt::format("Priors to the power {} and {}", kWeakerPrior, kStrongerPrior),
      {"parameter", "weaker: shift in sd", "sd times", "stronger: shift in sd", "sd times"},
      {}};
  for (const ParameterSensitivity& p : sensitivity.parameters) {
    table.rows.push_back(
        {p.name, p.weaker.shift, p.weaker.scale, p.stronger.shift, p.stronger.scale});
    if (p.sensitive()) sensitive += (sensitive.empty() ? "" : ", ") + p.name;
  }
  section.tables.push_back(std::move(table));
  section.paragraphs.push_back(
      sensitive.empty()
          ? "Somewhat weaker or stronger priors would hardly change the posterior."
          : "Somewhat weaker or stronger priors would change the posterior of " + sensitive +
                " (by more than a tenth of its standard deviation, or that by more than a "
                "twentieth): say why these priors were chosen.");
  section.paragraphs.push_back(fmt::format(
      "Computed from the draws by importance weights, worth at most {:.0f} of {:.0f} draws{}; "
      "nothing else was opened for it. The same for the likelihood is not possible: nobody knows "
      "its values.",
      sensitivity.effective_draws, sensitivity.draws,
      sensitivity.effective_draws < 0.1 * sensitivity.draws ? ", too few to go by" : ""));
  return section;
}

std::string ChainJson(const McmcStudy& study, const ChainSummary& summary, uint64_t lost,
                      const PriorSensitivity& sensitivity) {
  nlohmann::ordered_json parameters = nlohmann::ordered_json::array();
  for (const ParameterResult& p : summary.parameters) {
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
      {"superchains", summary.superchains},
      {"acceptance_rate", summary.acceptance_rate},
      {"decisions", summary.decisions},
      {"lost_openings", lost},
      {"ess_per_decision", summary.ess_per_decision},
      {"converged", summary.converged},
      {"warnings", summary.warnings},
      {"prior_sensitivity", SensitivityJson(sensitivity)},
      {"privacy", nlohmann::ordered_json::parse(privacy::StatementJson(study.statement))}};
  return json.dump();
}

study::DocumentSection ChainPrivacySection(const McmcStudy& study, const ChainSummary& summary) {
  study::DocumentSection section{"What the decisions tell"};
  if (!study.IsPrivate()) {
    section.paragraphs.emplace_back(
        "Nobody learned a likelihood, but no bound is claimed for what the draws say about one "
        "person.");
    return section;
  }
  const double epsilon = study.statement.rows.front().loss.epsilon_upper;
  const uint64_t charged =
      stats::mcmc::DecisionsOf(study.chain.options) * study.chain.options.chains;
  const double effective = summary.ess_per_decision * static_cast<double>(summary.decisions);
  section.paragraphs.push_back(fmt::format(
      "All {} decisions together{}: epsilon at most {} at delta = {} against whoever takes "
      "no part and sees the draws; {} per effective draw of the parameter that mixes "
      "worst. Those who take part know more:",
      charged,
      summary.decisions < charged ? fmt::format(" ({} of them were made)", summary.decisions) : "",
      privacy::RoundedText(epsilon, 3, true), privacy::DeltaText(study.spec.privacy->delta),
      privacy::RoundedText(epsilon / effective, 2, true)));
  for (const study::PlanPrivacy& row : run::PlanPrivacyRows(study.statement)) {
    section.paragraphs.push_back(row.adversary +
                                 (row.adjacency.empty() ? "" : " (" + row.adjacency + ")") + ": " +
                                 row.loss + ".");
  }
  section.paragraphs.insert(section.paragraphs.end(), study.statement.caveats.begin(),
                            study.statement.caveats.end());
  return section;
}

}  // namespace

study::Document McmcDocument(const McmcStudy& study, const ChainResult& result) {
  const ChainSummary summary = SummariseChain(study.chain, study.parameters, result);
  study::Document document;
  document.title = fmt::format("Posterior of {}", study.file.analyses.front().name);
  study::DocumentSection posterior{"Posterior", {}, {Posterior(summary)}};
  if (const auto ratios = Ratios(study, summary)) posterior.tables.push_back(*ratios);
  posterior.tables.push_back(Diagnostics(summary));
  const size_t superchains = result.draws.superchains;
  posterior.paragraphs.push_back(fmt::format(
      "{} chains of {} draws{}, {:.3g} % of the proposals accepted.", result.draws.chains.size(),
      result.draws.chains.front().rows(),
      superchains > 0 ? fmt::format(", {} in each of {} superchains",
                                    result.draws.chains.size() / superchains, superchains)
                      : "",
      100 * summary.acceptance_rate));
  if (superchains > 0) {
    posterior.paragraphs.emplace_back(
        "R-hat is nested: it compares superchains, whose chains began at one point, with each "
        "other. Single chains are too short to be judged.");
  }
  if (stats::mcmc::StagesOf(study.chain.options) > 1)
    posterior.paragraphs.push_back(MadeText(study.chain.options, result.draws));
  if (!summary.converged) {
    posterior.paragraphs.emplace_back(
        "The chains have not converged: R-hat must be below 1.01 and both effective sample sizes "
        "above 400. Do not use these numbers; allow more decisions (most_decisions, or draws and "
        "thin), or put predictors on a scale on which coefficients are near 1.");
  }
  posterior.paragraphs.insert(posterior.paragraphs.end(), summary.warnings.begin(),
                              summary.warnings.end());
  document.sections.push_back(std::move(posterior));
  const PriorSensitivity sensitivity =
      ScalePriors(study.parameters, study.chain.priors, result.draws);
  document.sections.push_back(SensitivitySection(sensitivity));
  document.sections.push_back(ChainPrivacySection(study, summary));
  document.sections.push_back({"Chains", {}, {}, ChainPlots(study.spec, summary, result.draws)});
  document.sections.push_back({"Ranks of the draws", {}, {}, RankPlots(summary, result.draws)});
  document.json = ChainJson(study, summary, result.skipped, sensitivity);
  document.files.push_back({kDrawsFile, DrawsCsv(study.parameters, result.draws)});
  if (superchains == 0) {
    for (size_t c = 0; c < result.draws.chains.size(); ++c)
      document.files.push_back({StanFile(c), StanCsv(study.parameters, result.draws, c)});
  }
  // A chain that stood still now and then is still one of its posterior; of one that did so for
  // long the diagnostics speak of other decisions than the study asked for.
  constexpr uint64_t kLostShare = 100;
  if (result.skipped * kLostShare > summary.decisions) {
    document.ending = study::Ending::kNotTrained;
  } else if (!summary.converged) {
    document.ending = study::Ending::kNotConverged;
  }
  return document;
}

std::vector<std::string> McmcStudy::FileNames() const {
  std::vector<std::string> names = {kDrawsFile};
  if (chain.options.superchains > 0) return names;
  for (size_t c = 0; c < chain.options.chains; ++c) names.push_back(StanFile(c));
  return names;
}

uint64_t McmcStudy::FileBytes() const {
  // Each draw stands in draws.csv and, without superchains, in the file of its chain, with what
  // Stan's files say of it.
  constexpr uint64_t kNumber = 26, kOfADraw = 10;
  const stats::mcmc::ChainOptions& options = chain.options;
  const uint64_t files = options.superchains > 0 ? 1 : 2;
  return files * kNumber * options.chains * options.draws * (parameters.size() + kOfADraw);
}

std::optional<study::DocumentSection> OwnRowsSection(const McmcStudy& study, const ChainRows& rows,
                                                     const stats::mcmc::Draws& draws,
                                                     crypto::RandomSource& random) {
  const std::vector<PredictiveCheck> checks = CheckPredictions(study.spec, rows, draws, random);
  if (checks.empty()) return {};
  study::DocumentSection section{"Own rows against the model"};
  section.own_rows = true;
  size_t draws_in_all = 0;
  for (const Eigen::MatrixXd& chain : draws.chains)
    draws_in_all += static_cast<size_t>(chain.rows());
  section.paragraphs.push_back(fmt::format(
      "{} of the posterior draws replicate the outcomes of this party's {} rows; p is the share of "
      "replicates above what the rows show. Near 0 or 1 the model is unlikely to produce rows like "
      "these. The model was fitted to these rows among others, which draws p towards 0.5; the "
      "checks are not independent of each other.",
      std::min(draws_in_all, kReplicates), rows.outcome.size()));
  if (IsSurvival(study.spec.model)) {
    section.paragraphs.emplace_back(
        "Replicates of censored rows are censored when the rows were, those of the others at a "
        "later time at which rows of this table were censored.");
  }
  section.paragraphs.emplace_back(
      "Exact, computed from this party's rows; shown here and kept in no file. To tell anybody is "
      "a release of its own.");
  study::DocumentTable table{"Posterior predictive checks",
                             {"of the outcome", "rows", "replicates", "2.5 %", "97.5 %", "p"},
                             {}};
  for (const PredictiveCheck& check : checks) {
    table.rows.push_back(
        {check.statistic, check.observed, check.mean, check.lower, check.upper, check.p_value});
  }
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace partita::methods::mcmc
