#include "methods/mcmc/study.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/design.h"
#include "methods/mcmc/row_checks.h"
#include "methods/mcmc/section.h"
#include "privacy/rounded_text.h"
#include "run/method/plan_privacy.h"
#include "stats/mcmc/diagnostics.h"

namespace partita::methods::mcmc {
namespace {

using run::Refuse;

void RequireMcmcDesign(const McmcStudy& study) {
  const study::DesignSpec& design = study.file.design;
  if (study.partition.kind != data::PartitionKind::kHorizontal) {
    Refuse(study, study.file.analyses.front().position,
           "method 'mcmc' needs whole rows at each holder; here columns are split",
           "give every row block to one holder, or use method 'mle'");
  }
  const bool cox = study.spec.model == ChainModel::kCox;
  if (cox && design.site != study::SiteEffect::kStrata) {
    Refuse(study, design.position,
           "Cox's model compares rows of one holder with each other only: the holders are strata",
           "write site = \"strata\"");
  }
  if (!cox && design.site != study::SiteEffect::kIgnore) {
    Refuse(study, design.position, "method 'mcmc' has no effects of sites in this model",
           "write site = \"ignore\", or use model = \"cox\" with site = \"strata\"");
  }
  if (design.missing != study::MissingPolicy::kRefuse &&
      design.missing != study::MissingPolicy::kComplete) {
    Refuse(study, design.position, "method 'mcmc' imputes nothing",
           "use missing = \"complete\" (rows with a missing value are left out) or \"refuse\"");
  }
  if (design.weights_kind != study::WeightsKind::kNone || !design.cluster.empty()) {
    Refuse(study, design.position, "method 'mcmc' takes neither weights nor clusters",
           "remove them");
  }
}

ChainAudience ChainAudienceOf(const McmcStudy& study, privacy::Adjacency adjacency) {
  ChainAudience audience;
  for (size_t i = 0; i < study.num_computing; ++i) {
    audience.parties.push_back(study.parties[i].name);
  }
  audience.engine = run::StructureOf(study.file.engine);
  audience.adjacency = adjacency;
  if (study.spec.privacy) audience.delta = study.spec.privacy->delta;
  audience.rows_per_person = static_cast<uint32_t>(study.file.population.max_rows_per_person);
  return audience;
}

Sensitivity SensitivityOf(const McmcStudy& study, privacy::Adjacency adjacency) {
  if (!study.spec.privacy) return std::nullopt;
  return RowSensitivity(*study.spec.privacy, adjacency);
}

bool DeclaresCounts(const McmcStudy& study) {
  return std::any_of(study.file.blocks.begin(), study.file.blocks.end(),
                     [](const study::RowBlock& block) { return block.count.has_value(); });
}

void StateChainPrivacy(McmcStudy& study) {
  const study::Position& position = study.file.analyses.front().position;
  const privacy::Adjacency adjacency =
      study.spec.privacy ? study.spec.privacy->adjacency : privacy::Adjacency::kReplace;
  study.sensitivity = SensitivityOf(study, adjacency);
  study.statement = StateChain(study.chain, ChainAudienceOf(study, adjacency), study.sensitivity);
  if (!study.spec.privacy) return;
  run::AddStudyCaveats(study, study.statement);
  if (adjacency == privacy::Adjacency::kAddRemove && DeclaresCounts(study)) {
    Refuse(study, position,
           "adjacency = \"add-remove\" hides the number of rows, which is declared",
           "write adjacency = \"replace\", or declare no counts");
  }
  const privacy::PrivacyLoss& outside = study.statement.rows.front().loss;
  if (outside.infinite || outside.epsilon_upper > study.spec.privacy->epsilon) {
    const uint64_t decisions =
        stats::mcmc::DecisionsOf(study.chain.options) * study.chain.options.chains;
    Refuse(study, position,
           outside.infinite
               ? fmt::format("nothing covers the {} decisions at this delta", decisions)
               : fmt::format("the {} decisions cost epsilon = {}, more than the promised {}",
                             decisions, privacy::RoundedText(outside.epsilon_upper, 3, true),
                             study.spec.privacy->epsilon),
           "take fewer chains or draws, a smaller clip or more noise, or promise less");
  }
}

bool IsBinaryNumber(const data::ColumnSchema& column) {
  return column.lower == 0 && column.upper == 1 &&
         (column.type == data::ColumnType::kNumeric || column.type == data::ColumnType::kInteger);
}

void FindVariables(McmcStudy& study) {
  const auto columns = data::DesignColumns(study.file.dictionary, study.file.derived);
  const auto add = [](std::vector<std::string>& list, const std::string& name) {
    if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
  };
  std::vector<std::string> names = study.spec.predictors;
  names.push_back(study.spec.outcome);
  for (const std::string& name : names) {
    const auto column = std::find_if(columns.begin(), columns.end(), [&](const auto& candidate) {
      return candidate.schema.name == name;
    });
    if (column == columns.end()) {  // a survival variable
      add(study.used, name);
      continue;
    }
    for (const std::string& source : data::SourcesOf(*column)) add(study.used, source);
    // What a 0/1 variable was scaled to has its small cells too.
    const data::ColumnSchema* source = study.file.dictionary.Find(column->source);
    if (IsBinaryNumber(column->schema)) {
      add(study.binary, name);
    } else if (source != nullptr && IsBinaryNumber(*source)) {
      add(study.binary, source->name);
    }
  }
}

void PlanMcmcReleases(McmcStudy& study) {
  if (!study.IsPrivate()) {
    study.releases.push_back(RowChecksReleaseOf(study.Checks(study.file.disclosure).size()));
  }
  mpc::Release release = ReleaseOf(study.chain);
  release.what += fmt::format(" of {} chains of analysis '{}'", study.chain.options.chains,
                              study.file.analyses.front().name);
  study.releases.push_back(std::move(release));
}

std::string ChainLossText(const privacy::StatementRow& row) {
  if (row.loss.infinite) return "no bound: " + row.reason;
  return fmt::format("eps <= {} at delta = {}, if all computing parties follow the protocol{}",
                     privacy::RoundedText(row.loss.epsilon_upper, 3, true),
                     privacy::DeltaText(row.loss.delta), privacy::WeaknessText(row.loss));
}

std::string DecisionsText(const stats::mcmc::ChainOptions& options) {
  const uint64_t most = stats::mcmc::DecisionsOf(options);
  if (stats::mcmc::StagesOf(options) == 1) return fmt::format("{}", most);
  return fmt::format("{} to {}", stats::mcmc::DecisionsOfStage(options, 0), most);
}

// Of chains that may go on: how far, and what it tells.
std::string StagesText(const McmcStudy& study) {
  const stats::mcmc::ChainOptions& options = study.chain.options;
  std::string after;
  for (size_t stages = 1; stages <= stats::mcmc::StagesOf(options); ++stages) {
    after += fmt::format("{}{}",
                         stages == 1                                ? ""
                         : stages == stats::mcmc::StagesOf(options) ? " or "
                                                                    : ", ",
                         stats::mcmc::DecisionsBefore(options, stages));
  }
  return fmt::format(
      "Chains stop when they have converged (R-hat below {} and effective sample sizes above {} of "
      "every parameter), after {} decisions each; expected: {}. Rounds, bytes and seconds are "
      "those of all. When they stop follows from the decisions that are open to everybody, and "
      "tells nothing beyond them; a dealer, who sees no decision, learns their number. {}",
      stats::mcmc::kLargestRhat, stats::mcmc::kSmallestEss, after,
      ExpectedDecisions(options, study.parameters.size()),
      study.IsPrivate() ? "All that may be made are charged, made or not."
                        : "most_decisions = ... is the budget.");
}

std::string ChainRowsText(const McmcStudy& study) {
  const bool complete = study.file.design.missing == study::MissingPolicy::kComplete;
  return run::RowsText(study, study.file.analyses.front().subset,
                       complete ? "that are complete" : "");
}

}  // namespace

McmcStudy PrepareMcmcStudy(study::StudyFile file) {
  McmcStudy study;
  run::PrepareParties(std::move(file), study);
  study.spec = ChainOf(study.file.analyses.front());
  study.parameters = ParameterNames(study.spec);
  study.chain = PlanOf(study.spec);
  RequireMcmcDesign(study);
  CheckPlan(study.chain);
  FindVariables(study);
  StateChainPrivacy(study);
  PlanMcmcReleases(study);
  return study;
}

std::vector<McmcCheck> McmcStudy::Checks(const study::DisclosureSpec& thresholds) const {
  using Counts = McmcCheck::Counts;
  std::vector<McmcCheck> checks;
  const uint64_t free = parameters.size();
  checks.push_back({Counts::kRows, "",
                    fmt::format("at least min_rows = {} rows", thresholds.min_rows),
                    thresholds.min_rows, false});
  checks.push_back({Counts::kRows, "",
                    fmt::format("at least five rows for each of the {} parameters", free), 5 * free,
                    !thresholds.refuse_small_samples});
  for (const std::string& name : binary) {
    checks.push_back({Counts::kOnes, name,
                      fmt::format("at least {} rows where {} is 1", thresholds.min_cell, name),
                      thresholds.min_cell, false});
    checks.push_back({Counts::kZeros, name,
                      fmt::format("at least {} rows where {} is 0", thresholds.min_cell, name),
                      thresholds.min_cell, false});
  }
  if (IsSurvival(spec.model)) {
    checks.push_back({Counts::kEvents, spec.outcome,
                      fmt::format("at least {} events", thresholds.min_cell), thresholds.min_cell,
                      false});
  }
  return checks;
}

run::MethodName McmcStudy::Method() const { return {"mcmc", 3, file.analyses.front().protocol}; }

run::StudySize McmcStudy::Size() const { return {spec.predictors.size() + 1, parameters.size()}; }

void McmcStudy::Describe(study::Plan& plan) const {
  const auto& options = chain.options;
  std::string predictors;
  for (const std::string& name : spec.predictors) {
    predictors += (predictors.empty() ? " on " : ", ") + name;
  }
  plan.analyses.push_back(
      {file.analyses.front().name, file.analyses.front().protocol,
       fmt::format(
           "{} regression of {}{}; {} chains{}, {} decisions each{}",
           ChainModelNames()[static_cast<size_t>(spec.model)], spec.outcome, predictors,
           options.chains,
           options.superchains > 0 ? fmt::format(" in {} superchains", options.superchains) : "",
           DecisionsText(options),
           chain.staged
               ? fmt::format(" in two stages, about {} % of the rows first", 100 * spec.first_stage)
               : ""),
       ChainRowsText(*this), parameters.size()});
  if (!IsPrivate()) {
    for (const McmcCheck& check : Checks(file.disclosure)) {
      plan.checks.push_back({file.analyses.front().name,
                             check.variable.empty() ? "rows" : check.variable, check.rule,
                             check.minimum, check.warning});
    }
  }
  plan.leakage_level = spec.rule == Rule::kBit ? "decisions" : "noisy-log-ratios";
  for (const privacy::StatementRow& row : statement.rows) {
    plan.privacy.push_back({privacy::AdversaryText(row.adversary),
                            row.loss.infinite ? "" : std::string(AdjacencyName(row.adjacency)),
                            ChainLossText(row)});
  }
  if (IsPrivate()) {
    plan.privacy_statement = statement;
    plan.assumptions.push_back(statement.mechanism);
    plan.assumptions.insert(plan.assumptions.end(), statement.caveats.begin(),
                            statement.caveats.end());
    plan.assumptions.emplace_back(
        "No disclosure checks are run: their answers would be exact functions of the data.");
  } else {
    plan.assumptions.emplace_back(
        "Nobody learns a likelihood, but the draws follow from what opens, and nothing limits what "
        "they say about single persons (no differential privacy).");
  }
  if (stats::mcmc::StagesOf(options) > 1) plan.notes.push_back(StagesText(*this));
  for (size_t j = 0; j < parameters.size(); ++j) {
    const bool flat = chain.priors[j].kind == stats::mcmc::PriorKind::kFlat;
    const auto starts = chain.start.row(static_cast<Eigen::Index>(j));
    plan.notes.push_back(
        fmt::format("Prior of {}: {}{}; {}.", parameters[j], PriorText(chain.priors[j]),
                    flat ? ", which is no distribution, and the posterior need not be one" : "",
                    options.superchains > 0 ? fmt::format("superchains begin from {:.3g} to {:.3g}",
                                                          starts.minCoeff(), starts.maxCoeff())
                                            : fmt::format("chains begin at {}", starts(0))));
  }
}

std::vector<std::string> McmcStudy::AlsoLearns(size_t party) const {
  if (party >= num_computing) return {};
  std::vector<std::string> learns = {"with them all draws of the chains"};
  if (parties[party].holder) {
    learns.emplace_back("and its own rows' likelihood at every proposal, which it knows itself");
  }
  return learns;
}

std::vector<study::PlanExposure> McmcStudy::Exposures() const {
  const mpc::Release release = ReleaseOf(chain);
  const bool bits = spec.rule == Rule::kBit;
  study::PlanExposure exposure;
  exposure.of = release.id;
  exposure.to = "all";
  exposure.opened = release.max_count * release.num_values.value_or(1);
  exposure.statistics = partition.TotalRows().value_or(0);
  exposure.level = bits ? "decisions" : "noisy-log-ratios";
  exposure.exposes = {bits ? "of every proposal whether it was accepted, which tells of the "
                             "likelihood what a random bit can"
                           : "a log ratio of likelihoods with noise for every proposal"};
  return {exposure};
}

std::vector<privacy::ledger::Charge> McmcStudy::Charges(
    const privacy::ledger::Policy& policy) const {
  const privacy::Adjacency adjacency = policy.outside.adjacency;
  if (adjacency == privacy::Adjacency::kAddRemove && DeclaresCounts(*this)) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("the budget of table {} is for the adjacency add-remove, but study '{}' "
                    "declares numbers of rows",
                    policy.table, file.name),
        "declare no counts in the study file");
  }
  auto charges =
      ChargesOf(chain, ChainAudienceOf(*this, adjacency), SensitivityOf(*this, adjacency), 0);
  if (!policy.insider) return charges;
  const auto others = static_cast<uint32_t>(num_computing - 1);
  const auto replace = privacy::Adjacency::kReplace;
  const auto insiders =
      ChargesOf(chain, ChainAudienceOf(*this, replace), SensitivityOf(*this, replace),
                std::min(policy.coalition, others));
  for (const privacy::ledger::Charge& charge : insiders) {
    const privacy::AdversaryKind kind = charge.adversary.kind;
    if (kind == privacy::AdversaryKind::kParty || kind == privacy::AdversaryKind::kCoalition) {
      charges.push_back(charge);
    }
  }
  return charges;
}

}  // namespace partita::methods::mcmc
