#include "methods/classify/study.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/classify/section.h"
#include "report/document_report.h"
#include "run/method/covariate_table.h"
#include "run/method/plan_privacy.h"
#include "run/party/outcome.h"

namespace partita::methods::classify {
namespace {

using run::MethodResult;
using run::MethodRows;
using run::Refuse;
using run::Study;

struct ClassifyRows : MethodRows {
  OwnTable table;
};

const study::AnalysisSpec& Analysis(const Study& study) { return study.file.analyses.front(); }

void RequireClassifyDesign(const Study& study) {
  const study::DesignSpec& design = study.file.design;
  if (design.site != study::SiteEffect::kIgnore) {
    Refuse(study, design.position, "method 'classify' has no effects of sites",
           "use site = \"ignore\"");
  }
  if (design.missing != study::MissingPolicy::kRefuse) {
    Refuse(study, design.position,
           "method 'classify' takes the number of rows as public, so none may be left out for what "
           "is in it",
           "use missing = \"refuse\" and give complete rows");
  }
  if (!design.weights.empty() || !design.cluster.empty()) {
    Refuse(study, design.position, "method 'classify' has neither weights nor clusters",
           "leave them out");
  }
  if (!study.file.population.subset.empty()) {
    Refuse(study, Analysis(study).position,
           "method 'classify' takes the number of rows as public, so the population has no subset",
           "give tables with the rows that take part");
  }
  if (study.file.population.max_rows_per_person > 1) {
    Refuse(study, Analysis(study).position,
           "method 'classify' protects one row; here a person has several",
           "give one row per person");
  }
}

// Rows of every computing party.
std::vector<uint64_t> RequireClassifyRows(const Study& study) {
  const study::Position& at = Analysis(study).position;
  if (study.partition.kind != data::PartitionKind::kHorizontal || !study.shared_blocks.empty()) {
    Refuse(study, at, "method 'classify' needs whole rows at each holder; here columns are split",
           "give every holder all columns of its rows");
  }
  std::vector<uint64_t> rows(study.num_computing, 0);
  for (const data::Holder& holder : study.partition.holders) {
    for (const size_t block : study.partition.BlocksOf(holder.party)) {
      const std::optional<uint64_t>& count = study.partition.blocks[block].count;
      if (!count) {
        Refuse(study, at,
               fmt::format("method 'classify' takes the number of rows as public, but block '{}' "
                           "declares none",
                           study.partition.blocks[block].name),
               "write count = ... in its [[rows]]");
      }
      rows[holder.party] += *count;
    }
  }
  for (size_t p = 0; p < rows.size(); ++p) {
    if (rows[p] > 0) continue;
    Refuse(
        study, at, fmt::format("party '{}' computes, but holds no rows", study.parties[p].name),
        "method 'classify' needs rows at every party but the dealer; make a holder the receiver");
  }
  return rows;
}

// Row counts are public, so that no opening is needed to compare them with what the file asks for.
void RequireEnoughRows(const Study& study) {
  const uint64_t least = study.file.disclosure.min_rows;
  for (const data::Holder& holder : study.partition.holders) {
    uint64_t rows = 0;
    for (const size_t block : study.partition.BlocksOf(holder.party)) {
      rows += study.partition.blocks[block].count.value_or(0);
    }
    if (rows >= least) continue;
    Refuse(study, Analysis(study).position,
           fmt::format("party '{}' has {} rows, fewer than min_rows = {}, and the protocol is not "
                       "private",
                       study.parties[holder.party].name, rows, least),
           "use a private protocol, or leave the party out");
  }
}

std::string ModelText(const Spec& spec) {
  const std::string loss = spec.huber_width > 0
                               ? fmt::format("Huber loss of width {:g}", spec.huber_width)
                               : "logistic loss";
  const std::string of = spec.binary()
                             ? fmt::format("{} = {}", spec.outcome, spec.levels[spec.positive])
                             : fmt::format("each level of {} against the rest", spec.outcome);
  return fmt::format("{} of {} on {} columns{}, penalty {:g}", loss, of, spec.columns.size(),
                     spec.intercept ? " and an intercept" : "", spec.lambda);
}

// methods.md 1.3: gradients without noise tell as much as whoever asks a likelihood learns.
const char* LevelOf(Protocol protocol) {
  switch (protocol) {
    case Protocol::kFederated:
      return "likelihood-oracle";
    case Protocol::kAverage:
    case Protocol::kObjective:
      return "parameters";
    case Protocol::kOwn:
      return "nothing";
    default:
      return run::kNoisedStatistics;
  }
}

size_t Parameters(const Spec& spec) {
  return spec.dimension() * (spec.binary() ? 1 : spec.levels.size());
}

}  // namespace

ClassifyStudy PrepareClassifyStudy(study::StudyFile file) {
  ClassifyStudy study;
  run::PrepareParties(std::move(file), study);
  RequireClassifyDesign(study);
  const std::vector<uint64_t> rows = RequireClassifyRows(study);
  const study::AnalysisSpec& analysis = Analysis(study);
  const Spec& spec = ClassifyOf(analysis).spec;
  std::vector<std::string> used = {run::SourceVariable(study, spec.outcome)};
  for (const data::DesignColumn& column : spec.columns) {
    for (std::string& source : data::SourcesOf(column)) used.push_back(std::move(source));
  }
  for (const data::ColumnSchema& column : study.file.dictionary.columns) {
    if (std::find(used.begin(), used.end(), column.name) != used.end()) {
      study.used.push_back(column.name);
    }
  }
  Audience audience;
  for (size_t p = 0; p < study.num_computing; ++p) {
    audience.parties.push_back(study.parties[p].name);
  }
  audience.engine = run::StructureOf(study.file.engine);
  Promise promise;
  if (const std::optional<study::PrivacySpec>& privacy = ClassifyOf(analysis).privacy) {
    promise = {privacy->epsilon, privacy->delta, privacy->known_shares};
  }
  try {
    study.design = DesignClassification(spec, promise, rows, std::move(audience));
  } catch (const Error& error) {
    Refuse(study, analysis.position, error.message(), error.hint());
  }
  if (study.IsPrivate()) run::AddStudyCaveats(study, *study.design.statement);
  study.releases = study.design.releases;
  if (!study.IsPrivate()) RequireEnoughRows(study);
  return study;
}

run::MethodName ClassifyStudy::Method() const {
  return {kMethodName, kMethodVersion, std::string(ProtocolName(design.spec.protocol))};
}

run::StudySize ClassifyStudy::Size() const {
  return {design.spec.columns.size() + 1, Parameters(design.spec)};
}

void ClassifyStudy::Describe(study::Plan& plan) const {
  const Spec& spec = design.spec;
  plan.analyses.push_back({Analysis(*this).name, std::string(ProtocolName(spec.protocol)),
                           ModelText(spec), "over all rows", Parameters(spec)});
  plan.leakage_level = LevelOf(spec.protocol);
  if (design.statement) plan.privacy = run::PlanPrivacyRows(*design.statement);
  if (IsPrivate()) {
    plan.privacy_statement = design.statement;
    for (std::string& sentence : run::PlanPrivacySentences(*design.statement)) {
      plan.assumptions.push_back(std::move(sentence));
    }
    plan.assumptions.emplace_back(
        "No disclosure checks are run: their answers would be exact functions of the data.");
  } else if (design.statement) {
    plan.assumptions.push_back(design.statement->mechanism);
    plan.assumptions.insert(plan.assumptions.end(), design.statement->caveats.begin(),
                            design.statement->caveats.end());
    plan.assumptions.emplace_back(
        "Nothing limits what the released numbers say about single persons (no differential "
        "privacy). Of the disclosure limits min_rows is compared with every party's number of "
        "rows; cells of factors are not counted.");
  } else {
    plan.assumptions.emplace_back(
        "Every party fits its own rows by itself: nothing of the data leaves its holder, and no "
        "party learns another's classifier.");
  }
  plan.notes.push_back(
      fmt::format("Values are mapped to [-1, 1] by the public bounds of the dictionary; rows "
                  "longer than {:.4g} "
                  "are shortened to it, and divided by it.",
                  spec.row_norm));
  if (spec.test_share > 0) {
    plan.notes.push_back(fmt::format(
        "{:g} of every party's rows are held aside at random and not used for training.",
        spec.test_share));
  }
  if (design.fit.minimum) {
    plan.notes.push_back(fmt::format(
        "The penalty with its slack Delta = {:.6g} is {:.6g}; the minimum takes {} steps.",
        design.fit.minimum->slack, design.fit.minimum->task.lambda,
        design.fit.minimum->task.iterations));
  }
  if (design.fit.psgd) {
    plan.notes.push_back(
        fmt::format("The slack beside the penalty is {:.6g}.", design.fit.psgd->options.slack));
  }
}

std::vector<std::string> ClassifyStudy::AlsoLearns(size_t party) const {
  if (party >= num_computing) return {};
  if (design.spec.protocol == Protocol::kOwn) return {"a classifier of its own rows"};
  if (!DrawsNoise(design.spec.protocol)) return {"with them the classifier"};
  return {"with them the classifier", "and its own share of the noise, which it can subtract"};
}

std::vector<study::PlanExposure> ClassifyStudy::Exposures() const {
  const uint64_t d = design.spec.dimension();
  std::vector<study::PlanExposure> exposures;
  const data::Schema factors = data::WithDerivedFactors(file.dictionary, file.derived);
  const run::CovariateTable table{
      run::LeastUnknown(*this, run::PatternColumnsOf(*this, factors, design.spec.columns), false),
      false};
  double opened_bits = 0;
  for (const mpc::Release& release : releases) {
    study::PlanExposure exposure;
    exposure.of = release.id;
    exposure.to = release.to;
    exposure.opened = release.num_values.value_or(1) * release.max_count;
    exposure.statistics = d * (design.spec.binary() ? 1 : design.spec.levels.size());
    exposure.level = LevelOf(design.spec.protocol);
    exposure.exposes = {
        release.what + " (" + release.mechanism + ")",
        "the exact number of rows of every party, which adjacency \"replace\" treats "
        "as public"};
    if (!IsPrivate()) {
      // Together with what opens before.
      opened_bits += privacy::NumberBits(exposure.opened, 0);
      exposure.bits = run::BitsAgainst(opened_bits, {table}, 0);
    }
    exposures.push_back(std::move(exposure));
  }
  return exposures;
}

uint64_t ClassifyStudy::NumbersPerRow() const {
  return design.fit.minimum ? design.spec.dimension() + 1 : 0;
}

std::vector<privacy::ledger::Charge> ClassifyStudy::Charges(
    const privacy::ledger::Policy& policy) const {
  if (policy.outside.adjacency != privacy::Adjacency::kReplace) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("the budget of table {} is for the adjacency add-remove, but study '{}' "
                    "takes the number of rows as public (replace)",
                    policy.table, file.name),
        "method 'classify' has the adjacency replace only");
  }
  std::vector<privacy::ledger::Charge> charges =
      ChargesOf(*design.statement, releases.front().id, policy.insider ? policy.coalition : 0,
                design.promise.delta);
  // Without an insider budget there is nothing to charge for parties.
  if (!policy.insider) {
    std::erase_if(charges, [](const privacy::ledger::Charge& charge) {
      return privacy::ledger::ClassOf(charge.adversary) ==
             privacy::ledger::AdversaryClass::kInsider;
    });
  }
  // The dealer learns what an outsider learns: one charge covers both.
  std::erase_if(charges, [](const privacy::ledger::Charge& charge) {
    return charge.adversary.kind == privacy::AdversaryKind::kDealer;
  });
  return charges;
}

void ClassifyStudy::DeriveColumns(data::Table& table) const {
  std::vector<std::string> names;
  for (const data::DesignColumn& column : design.spec.columns) names.push_back(column.schema.name);
  data::AddDesignColumns(table, file.dictionary, file.derived, names);
}

std::unique_ptr<MethodRows> ClassifyStudy::PrepareRows(size_t /*party*/,
                                                       const data::Holding& holding,
                                                       run::OwnRows& counts) const {
  const data::Table& table = *holding.table;
  counts.observed = table.num_rows;
  auto rows = std::make_unique<ClassifyRows>();
  rows->table.x.resize(static_cast<Eigen::Index>(table.num_rows),
                       static_cast<Eigen::Index>(design.spec.columns.size()));
  for (size_t c = 0; c < design.spec.columns.size(); ++c) {
    const data::Column& column = table.Get(design.spec.columns[c].schema.name);
    for (size_t r = 0; r < table.num_rows; ++r) {
      rows->table.x(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(c)) = column.numbers[r];
    }
  }
  for (const int32_t code : table.Get(design.spec.outcome).codes) {
    rows->table.level.push_back(static_cast<size_t>(code));
  }
  rows->table.neutral = table.neutral;
  counts.neutral =
      static_cast<uint64_t>(std::count(table.neutral.begin(), table.neutral.end(), uint8_t{1}));
  return rows;
}

std::unique_ptr<MethodRows> ClassifyStudy::NoRows() const {
  return std::make_unique<ClassifyRows>();
}

std::vector<std::vector<uint8_t>> ClassifyStudy::ExactRowSets(const MethodRows& /*rows*/,
                                                              const data::Holding& holding) const {
  if (IsPrivate() || releases.empty()) return {};
  return {std::vector<uint8_t>(holding.table->num_rows, 1)};
}

uint64_t ClassifyStudy::LeastRowsApart() const {
  return std::max<uint64_t>(file.disclosure.min_cell,
                            run::kRowsApartPerColumn * design.spec.dimension());
}

std::unique_ptr<MethodResult> ClassifyStudy::Run(mpc::Engine& engine, const run::RunInput& input,
                                                 Progress& progress) const {
  auto run = std::make_unique<ClassifyRun>();
  if (engine.self() && input.rows != nullptr) {
    const auto& rows = static_cast<const ClassifyRows&>(*input.rows);
    run->own = PrepareOwn(design, rows.table, *input.random);
  }
  run->result = RunClassification(engine, design, run->own, input.random, progress);
  return run;
}

void ClassifyStudy::Conclude(size_t /*party*/, MethodResult& result, run::PartyOutcome& outcome,
                             Progress& /*progress*/) const {
  const auto& run = static_cast<const ClassifyRun&>(result);
  if (run.result.coefficients.size() == 0) return;  // the dealer
  outcome.result = std::make_unique<report::DocumentResult>(
      ClassifyDocument(*this, run.result, run.own ? run.own->clipped_rows : 0));
}

}  // namespace partita::methods::classify
