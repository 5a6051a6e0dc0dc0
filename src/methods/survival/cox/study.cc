#include "methods/survival/cox/study.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/survival/cox/document.h"
#include "methods/survival/section.h"
#include "methods/survival/task.h"
#include "report/document_report.h"
#include "run/method/remedies.h"

namespace partita::methods::survival {
namespace {

struct CoxTaken : run::TakenRows {
  CoxRows own;
};

constexpr run::WholeRowsTexts kCoxTexts{
    "give every row block to one holder",
    "rows without a time, an event or a covariate are left out"};

std::vector<run::CheckOutcome> CoxChecks(const CoxStudy& study, const CoxAnswers& answers,
                                         const study::DisclosureSpec& disclosure) {
  const std::string& name = study.Analysis().name;
  std::vector<run::CheckOutcome> checks = {
      {name, "rows", fmt::format("at least {} rows", LeastCoxRows(study.task, disclosure.min_rows)),
       answers.rows, false}};
  for (size_t t = 0; t < study.checked.size(); ++t) {
    checks.push_back(
        {name, study.checked[t],
         fmt::format("each count of {} with the event and without is 0 or at least "
                     "min_cell = {}, also without each holder's own rows{}",
                     study.checked[t], disclosure.min_cell, CoxOwnRowsText(study.task)),
         answers.tables[t], false});
  }
  if (study.task.spec.clustered()) {
    checks.push_back({name, study.task.spec.cluster,
                      CoxClustersRule(study.task, disclosure.min_cell), answers.clusters, false});
  }
  checks.push_back({name, study.task.spec.outcome.name,
                    fmt::format("at least min_cell = {} events and as many rows without one, also "
                                "without each holder's own rows",
                                disclosure.min_cell),
                    answers.outcome, false});
  const CoxSpec& spec = study.task.spec;
  if (spec.most_ties > 1) {
    checks.push_back({name, spec.outcome.name, TiesText(spec), answers.ties, false});
  }
  return checks;
}

std::string CoxHint(const CoxSpec& spec, const CoxAnswers& answers) {
  const bool tables = run::AnyFailed(answers.tables);
  return run::HelpsOf(
      {{tables, run::kRareLevels},
       {tables && spec.covariance, "leave covariance out, for which pairs of levels are counted"},
       {!answers.clusters, run::kFewClusters},
       {!answers.outcome,
        "find more rows, of which some have the event and others leave without it"},
       {!answers.rows && !tables, run::kFewRows},
       {!answers.ties,
        "ask for more in a new study (most_ties), take narrower cells of time (cell), or ties = "
        "\"breslow\""}});
}

void RequireChecks(const CoxStudy& study, const std::optional<CoxAnswers>& answers,
                   const run::RunInput& input, CoxRun& run) {
  if (!answers) return;
  run.checks = CoxChecks(study, *answers, input.disclosure);
  std::string failed;
  for (const run::CheckOutcome& check : run.checks) {
    if (!check.passed) failed += (failed.empty() ? "" : "; ") + check.rule;
  }
  if (failed.empty()) return;
  RefuseTogether(study, input, "nothing was released, because this does not hold: " + failed,
                 CoxHint(study.task.spec, *answers));
}

void RequireIndependentColumns(const CoxStudy& study, const std::vector<size_t>& collinear,
                               const run::RunInput& input) {
  if (collinear.empty()) return;
  std::string names;
  for (const size_t c : collinear)
    names += (names.empty() ? "" : ", ") + study.task.spec.columns[c].name;
  RefuseTogether(
      study, input,
      "no estimate was released, because these columns follow from those before them, or "
      "do not differ among the rows at risk: " +
          names,
      "leave them out of the formula");
}

// Values that the variable of clusters can have.
uint64_t MostClusters(const data::ColumnSchema& schema) {
  if (data::HasLevels(schema.type)) return schema.levels.size();
  return static_cast<uint64_t>(schema.upper - schema.lower) + 1;
}

// As many units as each holder may have, which is public; each is a line of numbers for every cell.
void TakeUnits(CoxStudy& study) {
  CoxTask& task = study.task;
  uint64_t units = 0;
  for (const run::RowHolder& holder : task.holders) {
    uint64_t most = holder.max_rows;
    if (task.spec.clustered()) {
      const data::Schema& dictionary = study.file.dictionary;
      most = std::min(most, MostClusters(*dictionary.Find(task.spec.cluster)));
    }
    task.units.push_back(most);
    units += most;
  }
  const uint64_t numbers = units * task.cells.count() * NumOfUnit(task);
  if (numbers <= kMostUnitSums) return;
  const bool clustered = task.spec.clustered();
  Refuse(study, study.Analysis().position,
         fmt::format("errors of {} {} over {} cells of time are too much: {} numbers, {} at most",
                     units, clustered ? "clusters" : "rows with times of entry", task.cells.count(),
                     numbers, kMostUnitSums),
         fmt::format("take wider cells (cell = ...), fewer columns or strata, {}",
                     clustered ? "a factor of clusters with fewer levels, or closer bounds, or "
                                 "declare the numbers of rows"
                               : "or declare the numbers of rows as they are"));
}

}  // namespace

CoxStudy PrepareCoxStudy(study::StudyFile file) {
  CoxStudy study;
  run::PrepareParties(std::move(file), study);
  study.task.spec = CoxSpecOf(study.Analysis());
  RequireWholeRows(study, kCoxTexts);
  if (!study.file.design.weights.empty()) {
    Refuse(study, study.file.design.position, "a model of proportional hazards has no weights",
           "leave them out");
  }
  const CoxSpec& spec = study.task.spec;
  study.used = spec.variables;
  study.derived = study.file.derived;
  study.derived.insert(study.derived.end(), spec.made.begin(), spec.made.end());
  study.factors = data::WithDerivedFactors(study.file.dictionary, study.derived);
  const data::ModelCounts tables = study.Tables();
  study.checked = tables.names;
  study.task.table_sizes = tables.sizes;
  study.task.holders = RowHoldersOf(study, kMostCoxRows);
  study.task.cells = {(spec.by_site ? study.task.holders.size() : 1) * spec.num_levels,
                      spec.grid.cells};
  if (spec.by_units()) TakeUnits(study);
  study.task.to = spec.told_to_all ? mpc::kEverybody : study.receiver;
  study.task.grid_bits = FinestGrid(study, {"estimates", "the fit", "take fewer columns or steps"},
                                    [&](int grid_bits) {
                                      study.task.grid_bits = grid_bits;
                                      return CoxBits(study, CoxOpenedBits(study));
                                    });
  study.releases = CoxReleases(study);
  return study;
}

size_t CoxStudy::StratumOf(size_t party) const {
  return task.spec.by_site ? SiteOf(task.holders, party) : 0;
}

run::MethodName CoxStudy::Method() const { return {kMethodName, kMethodVersion, kCoxProtocol}; }

void CoxStudy::DeriveColumns(data::Table& table) const {
  data::AddDesignColumns(table, file.dictionary, derived, data::NeededColumns(task.spec));
}

std::unique_ptr<run::MethodRows> CoxStudy::PrepareRows(size_t party, const data::Holding& holding,
                                                       run::OwnRows& counts) const {
  run::RequireAssumedRows(*this, holding);
  auto rows = std::make_unique<CoxTaken>();
  const std::vector<size_t> taken = TakeRows(*this, *holding.table, used, *rows, counts);
  // What opens is about these, and so is the record of served rows.
  const std::vector<size_t> at_risk = RowsAtRisk(task.spec, *holding.table, taken);
  for (const size_t row : taken) rows->taken[row] = 0;
  for (const size_t row : at_risk) rows->taken[row] = 1;
  counts.not_in_population += taken.size() - at_risk.size();
  rows->own = CoxRowsOf(task.spec, Tables(), task.cells, StratumOf(party), *holding.table, at_risk);
  return rows;
}

std::unique_ptr<run::MethodRows> CoxStudy::NoRows() const {
  auto rows = std::make_unique<CoxTaken>();
  rows->own = NoCoxRows(task.spec, Tables(), task.cells);
  return rows;
}

uint64_t CoxStudy::LeastRowsApart() const {
  return std::max<uint64_t>(file.disclosure.min_cell, run::kRowsApartPerColumn * task.num_errors());
}

std::unique_ptr<run::MethodResult> CoxStudy::Run(mpc::Engine& engine, const run::RunInput& input,
                                                 Progress& progress) const {
  auto run = std::make_unique<CoxRun>();
  const auto phase = [&](const std::string& name) {
    progress.Phase(name);
    engine.BeginPhase(name);
  };
  const CoxTaken none;
  const CoxTaken& rows = input.rows == nullptr ? none : *static_cast<const CoxTaken*>(input.rows);
  CoxFitter fitter(engine, task, rows.own);
  phase("counts");
  fitter.ShareCounts();
  engine.AgreeToOpen();
  phase("disclosure");
  RequireChecks(*this, fitter.Check(input.disclosure.min_rows, input.disclosure.min_cell), input,
                *run);
  phase("step 1");
  RequireIndependentColumns(*this, fitter.First(), input);
  fitter.OpenPoint(1);
  for (int step = 2; step <= task.spec.steps; ++step) {
    phase(fmt::format("step {}", step));
    fitter.OpenPoint(step);
  }
  phase("fit");
  run->fitted = fitter.Finish();
  return run;
}

void CoxStudy::Conclude(size_t /*party*/, run::MethodResult& result, run::PartyOutcome& outcome,
                        Progress& /*progress*/) const {
  const auto& run = static_cast<const CoxRun&>(result);
  outcome.checks = run.checks;
  if (!run.fitted.model) return;
  outcome.used = {{Analysis().name, run.fitted.model->rows}};
  const std::string title = file.title.empty() ? "Hazard ratios in " + file.name : file.title;
  outcome.result = std::make_unique<report::DocumentResult>(
      CoxDocument(title, task, factors, CoxResultOf(task, factors, run.fitted)));
}

}  // namespace partita::methods::survival
