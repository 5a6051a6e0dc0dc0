#include "methods/mixed/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "methods/mixed/document.h"
#include "methods/mixed/section.h"
#include "report/document_report.h"
#include "run/method/remedies.h"

namespace partita::methods::mixed {
namespace {

using run::Refuse;

struct MixedRows : run::TakenRows {
  OwnData own;
};

constexpr run::WholeRowsTexts kTexts{.split = "give every row block to one holder",
                                     .complete =
                                         "rows that lack a variable of the model are left "
                                         "out",
                                     .several_rows = true};

void RequireGroups(const MixedStudy& study) {
  if (!study.task.spec.by_site()) return;
  const uint64_t holders = study.partition.holders.size();
  if (holders < kFewestSites) {
    Refuse(study, study.Analysis().position,
           fmt::format("there are {} holders, and as groups of (1 | site) {} are needed, as with "
                       "fewer the estimates give away single sites' means",
                       holders, kFewestSites),
           "name a variable whose values are the groups, or take method = \"glm\" with "
           "site = \"fixed\"");
  }
  if (study.CountsGroups()) {
    Refuse(study, study.Analysis().position,
           "a person has several rows, and (1 | site) takes them as independent",
           "make the person's number the group: (1 | person)");
  }
}

std::vector<run::CheckOutcome> CheckOutcomes(const MixedStudy& study, const CountAnswers& answers,
                                             const study::DisclosureSpec& disclosure) {
  const std::string& name = study.Analysis().name;
  std::vector<run::CheckOutcome> checks = {
      {name, "rows", fmt::format("at least {} rows", LeastRows(study.task, disclosure.min_rows)),
       answers.rows, false}};
  for (size_t t = 0; t < study.checked.size(); ++t) {
    checks.push_back({name, study.checked[t],
                      TableRule(study, study.checked[t], disclosure.min_cell), answers.tables[t],
                      false});
  }
  if (study.task.spec.binary()) {
    checks.push_back({name, study.task.spec.outcome, OutcomeRule(study, disclosure.min_cell),
                      answers.outcome, false});
  }
  checks.push_back({name, study.task.spec.group_name(), GroupsRule(study, disclosure.min_cell),
                    answers.groups, false});
  checks.push_back(
      {name, "rows in groups", RowsInGroupsRule(study.task), answers.rows_in_groups, false});
  if (study.task.spec.by_site()) {
    checks.push_back(
        {name, "rows of sites", SitesRule(disclosure.min_cell), answers.rows_of_sites, false});
  }
  return checks;
}

// What helps against the checks that failed.
std::string CountsHint(const Spec& spec, const CountAnswers& answers) {
  const bool tables = run::AnyFailed(answers.tables);
  return run::HelpsOf(
      {{tables, run::kRareLevels},
       {tables && spec.covariance,
        "leave covariance out, for which pairs of levels are counted, of rows and of groups, and "
        "who "
        "is without one in a group"},
       {!answers.outcome && !tables, "find more rows of the rarer outcome"},
       {!answers.rows && !tables, run::kFewRows},
       {!answers.groups, spec.by_site() ? "find more holders with rows"
                                        : "take a variable of more groups, or find more rows"},
       {!answers.rows_in_groups, "take larger groups; of single rows take method \"glm\""},
       {!answers.rows_of_sites, "leave out holders of so few rows"}});
}

void RequireCounts(mpc::Engine& engine, const MixedStudy& study,
                   const std::vector<mpc::Shared>& counts, const run::RunInput& input,
                   MixedRun& run) {
  const auto answers =
      CheckCounts(engine, study.task, counts, input.disclosure.min_rows, input.disclosure.min_cell);
  if (!answers) return;
  run.checks = CheckOutcomes(study, *answers, input.disclosure);
  std::string failed;
  for (const run::CheckOutcome& check : run.checks) {
    if (!check.passed) failed += (failed.empty() ? "" : "; ") + check.rule;
  }
  if (failed.empty()) return;
  RefuseTogether(study, input, "nothing was released, because this does not hold: " + failed,
                 CountsHint(study.task.spec, *answers));
}

void RequireIndependent(const MixedStudy& study, const std::vector<size_t>& collinear,
                        const run::RunInput& input) {
  if (collinear.empty()) return;
  std::string names;
  for (const size_t c : collinear)
    names += (names.empty() ? "" : ", ") + study.task.spec.columns[c].name;
  RefuseTogether(
      study, input,
      "no estimate was released, because these columns follow from those before them: " + names,
      "leave them out of the formula");
}

template <typename PathFitter>
PathFitted FitByPath(mpc::Engine& engine, const MixedStudy& study, const OwnData& own,
                     const std::vector<mpc::Shared>& counts, const run::RunInput& input,
                     const std::function<void(const std::string&)>& phase) {
  PathFitter fitter(engine, study.task, own, TotalsFrom(engine, study.task, counts));
  RequireIndependent(study, fitter.First(), input);
  for (int point = 0; point <= study.task.spec.steps; ++point) {
    phase(fmt::format("point {}", point));
    fitter.OpenPoint(point);
  }
  phase("fit");
  return fitter.Finish();
}

}  // namespace

MixedStudy PrepareMixedStudy(study::StudyFile file) {
  MixedStudy study;
  run::PrepareParties(std::move(file), study);
  study.task.spec = SpecOf(study.Analysis());
  RequireWholeRows(study, kTexts);
  RequireUnweighted(study, "leave them out; the groups stand in the formula: (1 | ward)");
  RequireGroups(study);
  const Spec& spec = study.task.spec;
  study.used = spec.variables;
  study.derived = study.file.derived;
  study.derived.insert(study.derived.end(), spec.made.begin(), spec.made.end());
  study.factors = data::WithDerivedFactors(study.file.dictionary, study.derived);
  const data::ModelCounts counts = CountsOf(spec, study.factors);
  study.checked = counts.names;
  study.task.table_sizes = counts.sizes;
  study.task.holders = RowHoldersOf(study, kMostMixedRows);
  study.task.to = spec.told_to_all ? mpc::kEverybody : study.receiver;
  study.task.grid_bits =
      FinestGrid(study, {"estimates", "the fit", "take fewer columns"}, [&](int grid_bits) {
        study.task.grid_bits = grid_bits;
        return BitsOf(study);
      });
  study.releases = ReleasesOf(study);
  return study;
}

OwnData OwnDataOf(const MixedStudy& study, const data::Table& table,
                  const std::vector<size_t>& taken) {
  return OwnDataOf(study.task.spec, CountsOf(study.task.spec, study.factors), study.CountsGroups(),
                   table, taken);
}

run::MethodName MixedStudy::Method() const {
  return {kMethodName, kMethodVersion, task.spec.level()};
}

run::StudySize MixedStudy::Size() const { return {used.size(), task.num_parameters()}; }

const std::string& MixedStudy::told() const {
  static const std::string all = "all";
  return task.to == mpc::kEverybody ? all : parties[receiver].name;
}

void MixedStudy::DeriveColumns(data::Table& table) const {
  data::AddDesignColumns(table, file.dictionary, derived, NeededColumns(task.spec));
}

std::unique_ptr<run::MethodRows> MixedStudy::PrepareRows(size_t /*party*/,
                                                         const data::Holding& holding,
                                                         run::OwnRows& counts) const {
  run::RequireAssumedRows(*this, holding);
  auto rows = std::make_unique<MixedRows>();
  rows->own =
      OwnDataOf(*this, *holding.table, TakeRows(*this, *holding.table, used, *rows, counts));
  return rows;
}

std::unique_ptr<run::MethodRows> MixedStudy::NoRows() const {
  auto rows = std::make_unique<MixedRows>();
  rows->own = NoData(task.spec, CountsOf(task.spec, factors));
  return rows;
}

uint64_t MixedStudy::RowsOfPerson() const {
  return static_cast<uint64_t>(std::max(1, file.population.max_rows_per_person));
}

uint64_t MixedStudy::LeastRowsApart() const {
  return RowsOfPerson() *
         std::max<uint64_t>(file.disclosure.min_cell, run::kRowsApartPerColumn * task.num_errors());
}

std::unique_ptr<run::MethodResult> MixedStudy::Run(mpc::Engine& engine, const run::RunInput& input,
                                                   Progress& progress) const {
  auto run = std::make_unique<MixedRun>();
  const auto phase = [&](const std::string& name) {
    progress.Phase(name);
    engine.BeginPhase(name);
  };
  const std::unique_ptr<run::MethodRows> none = NoRows();
  const auto& rows = static_cast<const MixedRows&>(input.rows == nullptr ? *none : *input.rows);
  phase("counts");
  const std::vector<mpc::Shared> counts = ShareCounts(engine, task, rows.own);
  engine.AgreeToOpen();
  phase("disclosure");
  RequireCounts(engine, *this, counts, input, *run);
  phase("sums");
  if (task.spec.by_path()) {
    run->path = task.spec.slope
                    ? FitByPath<SlopeFitter>(engine, *this, rows.own, counts, input, phase)
                    : FitByPath<LaplaceFitter>(engine, *this, rows.own, counts, input, phase);
    return run;
  }
  Fitter fitter(engine, task, rows.own, TotalsFrom(engine, task, counts));
  RequireIndependent(*this, fitter.OpenCollinear(), input);
  phase("fit");
  run->fit = fitter.Fit();
  return run;
}

void MixedStudy::Conclude(size_t /*party*/, run::MethodResult& result, run::PartyOutcome& outcome,
                          Progress& /*progress*/) const {
  const auto& run = static_cast<const MixedRun&>(result);
  outcome.checks = run.checks;
  const bool learned = run.path && run.path->model;
  if (!run.fit && !learned) return;
  const Regression regression =
      learned ? RegressionOf(task, *run.path) : RegressionOf(task, *run.fit);
  outcome.used = {{Analysis().name, regression.rows}};
  const std::string title = file.title.empty() ? "Mixed model of " + file.name : file.title;
  outcome.result =
      std::make_unique<report::DocumentResult>(MixedDocument(title, task, factors, regression));
}

}  // namespace partita::methods::mixed
