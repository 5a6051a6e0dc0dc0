#include "methods/glm/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "data/condition.h"
#include "methods/glm/document.h"
#include "methods/glm/section.h"
#include "privacy/release_rule.h"
#include "report/document_report.h"
#include "run/method/covariate_table.h"
#include "run/party/finish.h"

namespace partita::methods::glm {
namespace {

using run::Refuse;

constexpr uint64_t kMostRows = uint64_t{1} << 28;  // sums of that many fit (fit_numbers.h)

struct GlmRows : run::MethodRows {
  OwnData own;
  std::vector<uint8_t> taken;  // by row of the table
};

const study::AnalysisSpec& AnalysisOf(const run::Study& study) {
  return study.file.analyses.front();
}

void RequireDesign(const GlmStudy& study) {
  const study::DesignSpec& design = study.file.design;
  if (study.partition.kind != data::PartitionKind::kHorizontal || !study.shared_blocks.empty()) {
    Refuse(
        study, AnalysisOf(study).position,
        "method 'glm' needs whole rows at each holder; here columns are split",
        "give every row block to one holder; a gaussian outcome with split columns is a model of "
        "method 'mle'");
  }
  if (design.site != study::SiteEffect::kIgnore) {
    Refuse(study, design.position, "method 'glm' has no effects of sites", "use site = \"ignore\"");
  }
  if (design.missing != study::MissingPolicy::kRefuse &&
      design.missing != study::MissingPolicy::kComplete) {
    Refuse(study, design.position, "method 'glm' imputes nothing",
           "use missing = \"complete\" (rows that lack a variable of the model are left out) or "
           "\"refuse\"");
  }
  if (!design.weights.empty() || !design.cluster.empty()) {
    Refuse(study, design.position, "method 'glm' has neither weights nor clusters",
           "leave them out; instead of a frequency give that many rows");
  }
  if (study.file.population.max_rows_per_person > 1) {
    Refuse(
        study, AnalysisOf(study).position,
        "method 'glm' compares numbers of rows with min_cell, and its rows are independent; here "
        "a person has several",
        "give one row per person");
  }
}

std::vector<RowHolder> HoldersOf(const GlmStudy& study) {
  std::vector<RowHolder> holders;
  for (const data::Holder& holder : study.partition.holders) {
    RowHolder& rows = holders.emplace_back(RowHolder{holder.party, 0});
    for (const size_t block : study.partition.BlocksOf(holder.party))
      rows.max_rows += study.partition.blocks[block].count.value_or(run::kMaxUndeclaredRows);
  }
  return holders;
}

void RequireUnits(GlmStudy& study) {
  try {
    SetUnits(study.task);
  } catch (const Error& error) {
    Refuse(study, AnalysisOf(study).position, error.message(), error.hint());
  }
}

// As the grid is made coarser fewer bits open; what does not pass on the coarsest is refused.
void ChooseGrid(GlmStudy& study) {
  const int asked = study.file.release.grid_bits;
  if (asked == 0) {
    Refuse(study, AnalysisOf(study).position,
           "method 'glm' opens estimates on a grid, not with all their digits",
           "leave `grid` out of [release]");
  }
  const int coarsest = std::min(asked, privacy::kCoarsestGridBits);
  for (study.task.grid_bits = asked; study.task.grid_bits >= coarsest; --study.task.grid_bits) {
    if (BitsOf(study, OpenedBits(study)).passes) return;
  }
  study.task.grid_bits = asked;
  if (study.file.release.accept == study::AcceptedRelease::kTableOfCovariates) return;
  const study::PlanBits bits = BitsOf(study, OpenedBits(study));
  Refuse(study, AnalysisOf(study).position,
         fmt::format("the fit would tell up to {} bits, more than half of the {} of the {}",
                     bits.opened, bits.table, run::kTableOfCovariates),
         "take fewer columns or steps, promise more rows (min_rows in [disclosure], and where none "
         "are left out their numbers in [[rows]]), or write in [release] accept = \"table of "
         "covariates\", which every holder then approves with the plan");
}

// The bounds of what is shared are those of the rows that a block may have.
void RequireAssumedRows(const GlmStudy& study, const data::Holding& holding) {
  for (const data::BlockRows& rows : holding.blocks) {
    const data::RowBlock& block = study.partition.blocks[rows.block];
    if (block.count || rows.num_rows <= run::kMaxUndeclaredRows) continue;
    throw Error(ErrorCode::kBadData,
                fmt::format("block '{}' has {} rows, more than the {} assumed for a block without "
                            "a declared count",
                            block.name, rows.num_rows, run::kMaxUndeclaredRows),
                "agree on `count = ...` in its [[rows]] entry of the study file");
  }
}

void RefuseAll(const GlmStudy& study, const run::RunInput& input, const std::string& what,
               const std::string& hint) {
  if (input.channel != nullptr) run::ConfirmRefusal(*input.channel, study.num_computing);
  throw Error(ErrorCode::kRefused, what, hint);
}

std::vector<run::CheckOutcome> CheckOutcomes(const GlmStudy& study, const CountAnswers& answers,
                                             const study::DisclosureSpec& disclosure) {
  const std::string& name = AnalysisOf(study).name;
  std::vector<run::CheckOutcome> checks = {
      {name, "rows", fmt::format("at least {} rows", LeastRows(study.task, disclosure.min_rows)),
       answers.rows, false}};
  const std::string by_outcome = study.task.classes > 1 ? " with one outcome" : "";
  for (size_t t = 0; t < study.checked.size(); ++t) {
    checks.push_back({name, study.checked[t],
                      fmt::format("each count of {}{} is 0 or at least min_cell = {}, also without "
                                  "each holder's own rows",
                                  study.checked[t], by_outcome, disclosure.min_cell),
                      answers.tables[t], false});
  }
  if (study.task.classes > 1) {
    checks.push_back(
        {name, study.task.spec.outcome.name,
         fmt::format("at least min_cell = {} rows with each outcome, also without each "
                     "holder's own rows",
                     disclosure.min_cell),
         answers.outcome, false});
  }
  return checks;
}

void RequireCounts(mpc::Engine& engine, const GlmStudy& study,
                   const std::vector<mpc::Shared>& counts, const run::RunInput& input,
                   GlmRun& run) {
  const auto answers =
      CheckCounts(engine, study.task, counts, input.disclosure.min_rows, input.disclosure.min_cell);
  if (!answers) return;
  run.checks = CheckOutcomes(study, *answers, input.disclosure);
  std::string failed;
  for (const run::CheckOutcome& check : run.checks) {
    if (!check.passed) failed += (failed.empty() ? "" : "; ") + check.rule;
  }
  if (failed.empty()) return;
  RefuseAll(study, input, "nothing was released, because this does not hold: " + failed,
            "join rare levels (transform = \"cut\" in [[derived]]), leave the term out, or find "
            "more rows");
}

void RequireIndependent(const GlmStudy& study, const Collinear& collinear,
                        const run::RunInput& input) {
  if (collinear.columns.empty()) return;
  std::string names;
  for (const size_t c : collinear.columns)
    names += (names.empty() ? "" : ", ") + study.task.spec.columns[c].name;
  RefuseAll(
      study, input,
      "no estimate was released, because these columns follow from those before them: " + names,
      "leave them out of the formula");
}

}  // namespace

GlmStudy PrepareGlmStudy(study::StudyFile file) {
  GlmStudy study;
  run::PrepareParties(std::move(file), study);
  study.task.spec = SpecOf(AnalysisOf(study));
  RequireDesign(study);
  const Spec& spec = study.task.spec;
  study.used = spec.variables;
  study.derived = study.file.derived;
  study.derived.insert(study.derived.end(), spec.made.begin(), spec.made.end());
  study.factors = data::WithDerivedFactors(study.file.dictionary, study.derived);
  const CountTables tables(spec, study.factors);
  study.checked = tables.names;
  study.task.table_sizes = tables.sizes;
  study.task.classes = tables.classes;
  study.task.holders = HoldersOf(study);
  study.task.to = spec.told_to_all ? mpc::kEverybody : study.receiver;
  if (study.task.max_rows() > kMostRows) {
    Refuse(study, AnalysisOf(study).position, "method 'glm' takes 2^28 rows at most",
           "declare the numbers of rows as they are");
  }
  RequireUnits(study);
  ChooseGrid(study);
  study.releases = ReleasesOf(study);
  return study;
}

run::MethodName GlmStudy::Method() const { return {kMethodName, kMethodVersion, kProtocol}; }

run::StudySize GlmStudy::Size() const { return {used.size(), task.num_columns()}; }

std::vector<privacy::ledger::Charge> GlmStudy::Charges(
    const privacy::ledger::Policy& policy) const {
  throw Error(ErrorCode::kRefused,
              fmt::format("the estimates of study '{}' open without noise, so that no budget of "
                          "table {} covers them",
                          file.name, policy.table),
              "release them as an exact result, or use a method with noise");
}

void GlmStudy::DeriveColumns(data::Table& table) const {
  data::AddDesignColumns(table, file.dictionary, derived, NeededColumns(task.spec));
}

std::vector<size_t> RowsTaken(const GlmStudy& study, const data::Table& table,
                              run::OwnRows& counts) {
  const std::vector<uint8_t> population = data::SelectRows(table, study.file.population.subset);
  const std::vector<uint8_t> subset = data::SelectRows(table, AnalysisOf(study).subset);
  const std::vector<uint8_t> complete = data::CompleteRows(table, study.used);
  std::vector<size_t> taken;
  counts.observed = table.num_rows;
  for (size_t r = 0; r < table.num_rows; ++r) {
    if (population[r] == 0) {
      ++counts.not_in_population;
    } else if (complete[r] == 0) {
      ++counts.incomplete;
    } else if (subset[r] != 0) {
      taken.push_back(r);
    }
  }
  return taken;
}

std::unique_ptr<run::MethodRows> GlmStudy::PrepareRows(size_t /*party*/,
                                                       const data::Holding& holding,
                                                       run::OwnRows& counts) const {
  RequireAssumedRows(*this, holding);
  const data::Table& table = *holding.table;
  const std::vector<size_t> taken = RowsTaken(*this, table, counts);
  auto rows = std::make_unique<GlmRows>();
  rows->taken.resize(table.num_rows, 0);
  for (const size_t row : taken) rows->taken[row] = 1;
  rows->own = OwnDataOf(task.spec, CountTables(task.spec, factors), table, taken);
  return rows;
}

std::unique_ptr<run::MethodRows> GlmStudy::NoRows() const {
  auto rows = std::make_unique<GlmRows>();
  rows->own = NoData(task.spec, CountTables(task.spec, factors));
  return rows;
}

std::vector<std::vector<uint8_t>> GlmStudy::ExactRowSets(const run::MethodRows& rows,
                                                         const data::Holding& /*holding*/) const {
  return {static_cast<const GlmRows&>(rows).taken};
}

uint64_t GlmStudy::LeastRowsApart() const {
  return std::max<uint64_t>(file.disclosure.min_cell,
                            run::kRowsApartPerColumn * task.num_columns());
}

std::unique_ptr<run::MethodResult> GlmStudy::Run(mpc::Engine& engine, const run::RunInput& input,
                                                 Progress& progress) const {
  auto run = std::make_unique<GlmRun>();
  const auto phase = [&](const std::string& name) {
    progress.Phase(name);
    engine.BeginPhase(name);
  };
  const GlmRows none;
  const GlmRows& rows = input.rows == nullptr ? none : *static_cast<const GlmRows*>(input.rows);
  phase("counts");
  const std::vector<mpc::Shared> counts = ShareCounts(engine, task, rows.own);
  engine.AgreeToOpen();
  phase("disclosure");
  RequireCounts(engine, *this, counts, input, *run);
  Fitter fitter(engine, task, rows.own, RowsOf(engine, task, counts),
                EventsOf(engine, task, counts));
  phase("first point");
  RequireIndependent(*this, fitter.First(), input);
  fitter.OpenPoint(0);
  for (int step = 1; step <= task.spec.steps; ++step) {
    phase(fmt::format("step {}", step));
    fitter.OpenPoint(step);
  }
  phase("fit");
  run->fitted = fitter.Finish();
  return run;
}

void GlmStudy::Conclude(size_t /*party*/, run::MethodResult& result, run::PartyOutcome& outcome,
                        Progress& /*progress*/) const {
  const auto& run = static_cast<const GlmRun&>(result);
  outcome.checks = run.checks;
  if (!run.fitted.model) return;
  outcome.used = {{AnalysisOf(*this).name, run.fitted.model->rows}};
  const std::string title = file.title.empty() ? "Regression of " + file.name : file.title;
  outcome.result = std::make_unique<report::DocumentResult>(
      RegressionDocument(title, task, RegressionOf(task, run.fitted)));
}

}  // namespace partita::methods::glm
