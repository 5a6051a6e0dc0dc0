#include "methods/survival/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "data/design.h"
#include "methods/survival/document.h"
#include "methods/survival/section.h"
#include "report/document_report.h"

namespace partita::methods::survival {
namespace {

// Squares of that many, times cells, fit the integers of the engines.
constexpr uint64_t kMostRows = uint64_t{1} << 28;

struct SurvivalRows : run::TakenRows {
  OwnCounts counts;
};

constexpr run::WholeRowsTexts kTexts{"give every row block to one holder",
                                     "rows without a time, an event or a group are left out"};

std::vector<GroupFactor> FactorsOf(const Spec& spec) {
  return spec.group ? spec.group->factors : std::vector<GroupFactor>();
}

// In the order of the dictionary.
std::vector<std::string> UsedVariables(const SurvivalStudy& study) {
  const Spec& spec = study.task.spec;
  const std::vector<GroupFactor> factors = FactorsOf(spec);
  std::vector<std::string> used;
  for (const data::ColumnSchema& column : study.file.dictionary.columns) {
    const auto made_of = [&](const GroupFactor& factor) { return factor.source == column.name; };
    if (column.name == spec.outcome.name || std::any_of(factors.begin(), factors.end(), made_of))
      used.push_back(column.name);
  }
  return used;
}

void RequireEnoughRows(mpc::Engine& engine, const SurvivalStudy& study, const RiskSets& sets,
                       const run::RunInput& input, SurvivalRun& run) {
  const uint64_t least = input.disclosure.min_rows;
  const std::optional<bool> enough = EnoughRows(engine, study.task, sets, least);
  if (!enough) return;
  const std::string rule = fmt::format("at least min_rows = {} rows", least);
  run.checks.push_back({study.Analysis().name, "rows", rule, *enough, false});
  if (*enough) return;
  RefuseTogether(study, input, "nothing was released, because this does not hold: " + rule,
                 "find more rows");
}

}  // namespace

std::vector<std::string> NeededVariables(const Spec& spec) {
  std::vector<std::string> needed = {spec.outcome.name};
  for (const GroupFactor& factor : FactorsOf(spec)) needed.push_back(factor.schema.name);
  return needed;
}

SurvivalStudy PrepareSurvivalStudy(study::StudyFile file) {
  SurvivalStudy study;
  run::PrepareParties(std::move(file), study);
  study.task.spec = SpecOf(study.Analysis());
  RequireWholeRows(study, kTexts);
  RequireUnweighted(study, "leave them out");
  study.used = UsedVariables(study);
  study.task.holders = RowHoldersOf(study, kMostRows);
  study.task.to = study.task.spec.told_to_all ? mpc::kEverybody : study.receiver;
  study.task.grid_bits = FinestGrid(
      study, {"survival", "the curves", "take fewer report times or groups"}, [&](int grid_bits) {
        study.task.grid_bits = grid_bits;
        return BitsOf(study);
      });
  study.releases = ReleasesOf(study);
  return study;
}

run::MethodName SurvivalStudy::Method() const { return {kMethodName, kMethodVersion, kProtocol}; }

void SurvivalStudy::DeriveColumns(data::Table& table) const {
  data::AddDesignColumns(table, file.dictionary, file.derived, std::span<const std::string>());
}

std::unique_ptr<run::MethodRows> SurvivalStudy::PrepareRows(size_t /*party*/,
                                                            const data::Holding& holding,
                                                            run::OwnRows& counts) const {
  run::RequireAssumedRows(*this, holding);
  auto rows = std::make_unique<SurvivalRows>();
  const std::vector<size_t> taken =
      TakeRows(*this, *holding.table, NeededVariables(task.spec), *rows, counts);
  rows->counts = CountOwn(task.spec, *holding.table, taken);
  return rows;
}

std::unique_ptr<run::MethodRows> SurvivalStudy::NoRows() const {
  return std::make_unique<SurvivalRows>();
}

uint64_t SurvivalStudy::LeastRowsApart() const {
  return std::max<uint64_t>(file.disclosure.min_cell, run::kRowsApartPerColumn * NumOpened(task));
}

std::unique_ptr<run::MethodResult> SurvivalStudy::Run(mpc::Engine& engine,
                                                      const run::RunInput& input,
                                                      Progress& progress) const {
  auto run = std::make_unique<SurvivalRun>();
  run->min_cell = input.disclosure.min_cell;
  const SurvivalRows none;
  const SurvivalRows& own =
      input.rows == nullptr ? none : *static_cast<const SurvivalRows*>(input.rows);
  progress.Phase("counts");
  engine.BeginPhase("counts");
  const RiskSets sets = ShareRiskSets(engine, task, own.counts);
  engine.AgreeToOpen();
  progress.Phase("disclosure checks");
  engine.BeginPhase("disclosure");
  RequireEnoughRows(engine, *this, sets, input, *run);
  progress.Phase("curves");
  engine.BeginPhase("curves");
  run->opened = OpenCurves(engine, task, sets, input.disclosure.min_cell);
  return run;
}

void SurvivalStudy::Conclude(size_t /*party*/, run::MethodResult& result,
                             run::PartyOutcome& outcome, Progress& /*progress*/) const {
  const auto& run = static_cast<const SurvivalRun&>(result);
  outcome.checks = run.checks;
  if (!run.opened) return;
  const std::string title = file.title.empty() ? "Survival in " + file.name : file.title;
  outcome.result = std::make_unique<report::DocumentResult>(
      CurvesDocument(title, task, CurvesOfOpened(task.spec, *run.opened), run.min_cell));
}

}  // namespace partita::methods::survival
