// What the plan says of method `survival`.
#include <fmt/format.h>

#include <cmath>

#include "data/design.h"
#include "methods/survival/document.h"
#include "methods/survival/medians.h"
#include "methods/survival/study.h"
#include "privacy/release_rule.h"
#include "run/method/covariate_table.h"
#include "run/method/plan_privacy.h"

namespace partita::methods::survival {
namespace {

// The curves are all that it says of the rows.
constexpr char kLevel[] = "sufficient-statistics";
constexpr size_t kLineBytes = 256;  // of curves.csv, at most, beside names

std::string ByGroup(const Spec& spec) {
  if (!spec.group) return "";
  return fmt::format(" for each {} of {}", spec.group->factors.size() > 1 ? "combination" : "level",
                     spec.group->schema.name);
}

std::string ReportText(const Spec& spec) {
  std::string text;
  for (size_t r = 0; r < spec.report.size(); ++r) {
    text += r == 0 ? "" : r + 1 == spec.report.size() ? " and " : ", ";
    text += fmt::format("{:g}", spec.grid.End(spec.report[r]));
  }
  return text;
}

std::string OpenedText(const SurvivalStudy& study) {
  const Spec& spec = study.task.spec;
  std::string text = fmt::format(
      "counts of rows, events and rows followed further, log survival and its standard error on a "
      "grid of 2^-{} of that error, at {} {}, and a median with its interval{}",
      study.task.grid_bits, spec.outcome.time_column, ReportText(spec), ByGroup(spec));
  if (spec.group)
    text += "; of the log-rank test observed events, observed less expected, its error, chi-square";
  return text;
}

// Exact counts, numbers on the grid, and places of medians.
double NumCounts(const Spec& spec) {
  const size_t groups = spec.num_groups();
  return static_cast<double>(groups * (1 + 2 * spec.report.size()) + (groups > 1 ? groups : 0));
}
uint64_t NumOnGrid(const Spec& spec) {
  const uint64_t groups = spec.num_groups();
  return 2 * groups * spec.report.size() + (groups > 1 ? 2 * groups + 1 : 0);
}

}  // namespace

double OpenedBits(const SurvivalStudy& study) {
  const Spec& spec = study.task.spec;
  const auto medians = static_cast<double>(kMediansOfGroup * spec.num_groups());
  return NumCounts(spec) * privacy::CountBits(run::MostRows(study.task.holders)) +
         privacy::NumberBits(NumOnGrid(spec), study.task.grid_bits) +
         medians * std::log2(static_cast<double>(MedianPlaces(spec).size()) + 1);
}

study::PlanBits BitsOf(const SurvivalStudy& study) {
  const Spec& spec = study.task.spec;
  // Of time and event.
  run::PatternColumns columns = {
      {spec.outcome.name, std::log2(2 * static_cast<double>(spec.grid.cells))}};
  if (spec.group) {
    for (const GroupFactor& factor : spec.group->factors) {
      columns.emplace_back(factor.source,
                           std::log2(static_cast<double>(factor.schema.levels.size())));
    }
  }
  const bool incomplete = study.file.design.missing != study::MissingPolicy::kRefuse;
  const run::CovariateTable table{
      run::LeastUnknown(study, columns, LeavesRowsOut(study, incomplete)), false};
  return run::BitsAgainst(OpenedBits(study), {table}, study.task.grid_bits);
}

std::vector<mpc::Release> ReleasesOf(const SurvivalStudy& study) {
  const bool all = study.task.to == mpc::kEverybody;
  return {{kDisclosureRelease, "one bit: whether there are min_rows rows", "all", "exact", 1,
           mpc::kEverybody, 1},
          {kCurvesRelease, OpenedText(study), all ? "all" : study.parties[study.receiver].name,
           "exact", 1, study.task.to, NumOpened(study.task)}};
}

void SurvivalStudy::Describe(study::Plan& plan) const {
  const Spec& spec = task.spec;
  const std::string& name = Analysis().name;
  const bool incomplete = file.design.missing != study::MissingPolicy::kRefuse;
  plan.analyses.push_back(
      {name, kProtocol, fmt::format("{}: Kaplan-Meier curves", spec.formula),
       run::RowsText(*this, Analysis().subset,
                     incomplete ? "that have a time, an event and a group" : ""),
       0});
  const uint64_t min_cell = file.disclosure.min_cell;
  plan.checks.push_back({name, "rows",
                         fmt::format("at least min_rows = {} rows", file.disclosure.min_rows),
                         file.disclosure.min_rows, false});
  plan.checks.push_back(
      {name, spec.outcome.name,
       fmt::format("between two report times the events, and the rows that leave without one, and "
                   "after the last all rows{} are 0 or at least {}, also without each holder's own "
                   "rows; else nothing of the curve opens",
                   ByGroup(spec), min_cell),
       min_cell, true});
  plan.checks.push_back(
      {name, "medians",
       fmt::format("each opens exactly if at least {0} events of the group lie within 1/16 of the "
                   "times around it, also without each holder's own; else as a part of the time "
                   "between two report times, an eighth to all of it, that has {0} so; else not",
                   min_cell),
       min_cell, true});
  if (spec.group) {
    plan.checks.push_back(
        {name, "log-rank",
         fmt::format("rows and events{} are 0 or at least {}, also without each holder's own; else "
                     "nothing of the test opens; if events after the last report time are not, "
                     "no observed events",
                     ByGroup(spec), min_cell),
         min_cell, true});
  }
  plan.leakage_level = kLevel;
  const std::string told = task.to == mpc::kEverybody ? std::string("every party")
                                                      : parties[receiver].name + ", the receiver";
  plan.privacy.push_back(
      {told, "",
       "no bound: the releases are exact, and nothing limits what they say about one person"});
  run::AddEngineBounds(*this, plan.privacy);
  plan.assumptions.emplace_back(
      "Who leaves when stays on shares: counts of single cells of time, which are persons, open to "
      "nobody. What a check withholds nobody learns; what was withheld sees who has the curves, "
      "and "
      "that is an answer about the rows. Holders who put their rows together can subtract them "
      "all, which is not checked, and nothing limits what the curves say about single persons (no "
      "differential privacy).");
  plan.assumptions.emplace_back(
      "The checks are of these curves alone. Curves of several studies can be subtracted from one "
      "another, and no min_cell is asked of the differences: a holder's own machine refuses rows "
      "that differ from earlier ones by few, not other report times or groups of the same rows.");
  plan.notes.push_back(fmt::format(
      "Times count in {} cells of {:g}{}; times within a cell are tied.", spec.grid.cells,
      spec.grid.width, spec.outcome.unit.empty() ? "" : " " + spec.outcome.unit));
  plan.notes.push_back(fmt::format("The curves are also written as {}.", kCurvesFile));
}

std::vector<std::string> SurvivalStudy::AlsoLearns(size_t party) const {
  const bool told = task.to == mpc::kEverybody || task.to == party;
  if (party >= num_computing || !told) return {};
  return {"with them which curves and medians the checks withheld"};
}

std::vector<study::PlanExposure> SurvivalStudy::Exposures() const {
  const Spec& spec = task.spec;
  study::PlanExposure exposure;
  exposure.of = kCurvesRelease;
  exposure.to = releases.back().to;
  exposure.opened = NumOpened(task);
  exposure.statistics = NumOpened(task);
  exposure.level = kLevel;
  exposure.exposes = {fmt::format(
      "the exact number of rows, of events between {} {} and of rows followed further{}",
      spec.outcome.time_column, ReportText(spec), ByGroup(spec))};
  exposure.bits = BitsOf(*this);
  return {exposure};
}

std::vector<std::string> SurvivalStudy::FileNames() const { return {kCurvesFile}; }

uint64_t SurvivalStudy::FileBytes() const {
  const Spec& spec = task.spec;
  uint64_t bytes = kLineBytes;
  for (size_t g = 0; g < spec.num_groups(); ++g) {
    const size_t name = spec.group ? spec.group->schema.levels[g].size() : 3;
    bytes += spec.report.size() * (kLineBytes + 2 * name);
  }
  return bytes;
}

}  // namespace partita::methods::survival
