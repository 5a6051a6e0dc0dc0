// What the plan says of method `describe`.
#include <fmt/format.h>

#include <cmath>

#include "methods/describe/document.h"
#include "methods/describe/group_bits.h"
#include "methods/describe/hidden.h"
#include "methods/describe/study.h"
#include "privacy/release_rule.h"
#include "run/method/covariate_table.h"
#include "run/method/plan_privacy.h"
#include "run/method/sum_columns.h"

namespace partita::methods::describe {
namespace {

// The table is all that it says of the rows.
constexpr char kLevel[] = "sufficient-statistics";
constexpr size_t kCellBytes = 64;  // of table1.csv, at most, beside names

std::string ListOf(const std::vector<Variable>& variables) {
  std::string list;
  for (const Variable& variable : variables)
    list += (list.empty() ? "" : ", ") + variable.schema.name;
  return list;
}

std::string ByGroup(const Spec& spec) {
  if (spec.by_site) return " for each holder";
  return spec.group ? fmt::format(" for each level of {}", spec.group->schema.name) : "";
}

std::string RowsText(const DescribeStudy& study) {
  const bool lacking = study.spec.group && !study.spec.by_site && study.spec.missing;
  return run::RowsText(study, study.Analysis().subset,
                       lacking ? "that have " + study.spec.group->schema.name : "") +
         (study.task.hidden() ? ", at positions where all holders have a row" : "") +
         ByGroup(study.spec);
}

std::string OpenedText(const DescribeStudy& study) {
  std::string text = fmt::format("counts{}", study.spec.missing ? " (missing cells as well)" : "");
  const Layout layout(study.spec);
  if (!layout.numbers.empty()) {
    text += fmt::format(", means and standard deviations on a grid of 2^-{} of standard errors",
                        study.task.grid_bits);
    if (!study.spec.quantiles.empty())
      text += fmt::format(" and {} quantiles each", study.spec.quantiles.size());
    if (study.spec.compared.ranks)
      text += fmt::format(", a rank statistic of each on 2^-{},", study.task.grid_bits);
  }
  if (study.spec.compared.mantel_haenszel) {
    text += fmt::format(
        ", the odds ratio within holders of each variable of two values with its error and test on "
        "2^-{},",
        study.task.grid_bits);
  }
  return fmt::format("{} of {}{}", text, ListOf(study.spec.variables), ByGroup(study.spec));
}

// What counts are held to beside their size.
std::string BesideCounts(const DescribeStudy& study) {
  if (!study.task.named) return ", also without each holder's own rows";
  if (study.task.hidden()) return ", and no value or group is that of all persons known by name";
  std::string text =
      study.task.holders.size() > 1 ? ", also without the rows of the same holders" : "";
  return text +
         ", rows left out as well, and no value or group is that of all persons known by name";
}

std::string ComparisonsOpened(const Compared& compared) {
  std::string opened = compared.ranks ? "the rank statistics" : "";
  if (compared.mantel_haenszel)
    opened += std::string(opened.empty() ? "" : " and ") + "the odds ratios within holders";
  return opened.empty() ? "." : fmt::format(", but for {}, which open and are counted.", opened);
}

// Every variable with the columns that its patterns are made of.
std::vector<data::DesignColumn> PatternVariables(const Spec& spec) {
  std::vector<data::DesignColumn> columns;
  const auto add = [&](const Variable& variable) {
    const bool levels = !variable.schema.levels.empty();
    columns.push_back({variable.schema, variable.source, levels ? variable.schema.name : "", ""});
  };
  for (const Variable& variable : spec.variables) add(variable);
  if (spec.group && !spec.by_site) add(*spec.group);
  return columns;
}

}  // namespace

std::string RowsRule(const Spec& spec, uint64_t min_rows) {
  return fmt::format("at least min_rows = {} rows{}", min_rows,
                     spec.by_site ? " of each holder" : "");
}

double OpenedBits(const DescribeStudy& study) {
  const Layout layout(study.spec);
  const uint64_t rows = study.task.max_rows();
  const size_t groups = study.spec.by_site ? 1 : layout.groups;
  const size_t arms = study.spec.by_site ? 1 : layout.arms;
  double bits = static_cast<double>(layout.num_rows() * groups) * privacy::CountBits(rows);
  bits += privacy::NumberBits(2 * layout.numbers.size() * groups, study.task.grid_bits);
  if (study.spec.compared.ranks)
    bits += privacy::NumberBits(layout.numbers.size(), study.task.grid_bits);
  if (study.spec.compared.mantel_haenszel) {
    // Logarithm, error, test, correction.
    bits += privacy::NumberBits(4 * TwoValued(study.spec).size(), study.task.grid_bits);
  }
  for (const size_t v : layout.numbers) {
    const auto cells =
        static_cast<double>(CellsOf(study.spec.variables[v].schema, study.spec.most_cells).count);
    bits += static_cast<double>(study.spec.quantiles.size() * arms) * std::log2(cells + 1);
  }
  return bits;
}

study::PlanBits BitsOf(const DescribeStudy& study) {
  const data::Schema factors = data::WithDerivedFactors(study.file.dictionary, study.file.derived);
  const run::PatternColumns columns =
      run::PatternColumnsOf(study, factors, PatternVariables(study.spec));
  if (study.spec.by_site) {
    // Of one holder's rows, of which there are min_rows at least.
    double patterns = 0;
    for (const auto& [variable, bits] : columns) patterns += bits;
    return run::BitsAgainst(OpenedBits(study),
                            {{{{study.file.disclosure.min_rows, patterns}}, false}},
                            study.task.grid_bits);
  }
  const bool left_out = LeavesRowsOut(study, study.spec.group && study.spec.missing);
  const run::CovariateTable table{run::LeastUnknown(study, columns, left_out), false};
  return run::BitsAgainst(OpenedBits(study), {table}, study.task.grid_bits);
}

std::vector<mpc::Release> ReleasesOf(const DescribeStudy& study) {
  const bool all = study.task.to == mpc::kEverybody;
  return {{kDisclosureRelease,
           fmt::format("one bit: whether there are min_rows rows{}",
                       study.spec.by_site ? " of each holder" : ""),
           "all", "exact", 1, mpc::kEverybody, 1},
          {kTableRelease, OpenedText(study), all ? "all" : study.parties[study.receiver].name,
           "exact", 1, study.task.to, NumOpened(study.task)}};
}

void DescribeStudy::Describe(study::Plan& plan) const {
  const std::string& name = Analysis().name;
  plan.analyses.push_back({name, kProtocol,
                           fmt::format("description of {}", ListOf(spec.variables)),
                           RowsText(*this), 0});
  plan.checks.push_back(
      {name, "rows", RowsRule(spec, file.disclosure.min_rows), file.disclosure.min_rows, false});
  for (const Variable& variable : spec.variables) {
    plan.checks.push_back(
        {name, variable.schema.name,
         fmt::format("each count{} is 0 or at least {}{}; else {}", ByGroup(spec),
                     file.disclosure.min_cell, BesideCounts(*this),
                     spec.group ? "only the counts over all groups open, held to the same"
                                : "nothing of the variable opens"),
         file.disclosure.min_cell, true});
  }
  plan.leakage_level = kLevel;
  const std::string told = task.to == mpc::kEverybody ? std::string("every party")
                                                      : parties[receiver].name + ", the receiver";
  plan.privacy.push_back(
      {told, "",
       "no bound: the releases are exact, and nothing limits what they say about one person"});
  run::AddEngineBounds(*this, plan.privacy);
  if (task.named) {
    plan.assumptions.emplace_back(
        "Where columns are split their holders know whose rows they are. What would say of all "
        "persons with a value, or of all of a group, that they have one group or one value is "
        "withheld; that nobody of them has one is not.");
    for (std::string& text : GroupBitsTexts(*this)) plan.assumptions.push_back(std::move(text));
  }
  if (task.hidden()) plan.assumptions.push_back(HiddenText(*this));
  if (spec.by_site) {
    plan.assumptions.push_back(fmt::format(
        "Every holder's own counts, means and quantiles open to {}, by name. Whoever approves this "
        "plan agrees to that for its own rows.",
        task.to == mpc::kEverybody ? std::string("all") : parties[receiver].name));
  }
  plan.assumptions.emplace_back(
      "What a check withholds nobody learns; which variables were withheld sees who has the table, "
      "and that is an answer about the rows. Holders who put their rows together can subtract them "
      "all, which is not checked, and nothing limits what the table says about single persons (no "
      "differential privacy).");
  plan.assumptions.emplace_back(
      "The checks are of this table alone. Tables of several studies can be subtracted from one "
      "another, and no min_cell is asked of the differences: a holder's own machine refuses rows "
      "that differ from earlier ones by few, not other cuts, groups or variables of the same "
      "rows.");
  if (file.engine.input_bits) plan.assumptions.emplace_back(run::kPushedSumsText);
  plan.notes.emplace_back(
      "All rows together are computed from the groups where these open; their quantiles open on "
      "their own.");
  if (spec.compared.Any()) {
    plan.notes.push_back(
        std::string("Comparisons of the groups are computed from the table and tell nothing more") +
        ComparisonsOpened(spec.compared));
  }
  plan.notes.push_back(fmt::format("The table is also written as {}.", kTableFile));
}

std::vector<std::string> DescribeStudy::AlsoLearns(size_t party) const {
  const bool told = task.to == mpc::kEverybody || task.to == party;
  if (party >= num_computing || !told) return {};
  return {"with them which variables the checks withheld"};
}

std::vector<study::PlanExposure> DescribeStudy::Exposures() const {
  study::PlanExposure exposure;
  exposure.of = kTableRelease;
  exposure.to = releases.back().to;
  exposure.opened = NumOpened(task);
  exposure.statistics = NumOpened(task);
  exposure.level = kLevel;
  exposure.exposes = {"the exact number of rows with each value of " + ListOf(spec.variables) +
                      ByGroup(spec)};
  if (spec.by_site) exposure.exposes.emplace_back("the exact number of rows of each holder");
  if (task.hidden())
    exposure.exposes.emplace_back("the exact number of rows that match and take part");
  exposure.bits = BitsOf(*this);
  return {exposure};
}

std::vector<std::string> DescribeStudy::FileNames() const { return {kTableFile}; }

uint64_t DescribeStudy::FileBytes() const {
  const Layout layout(spec);
  const uint64_t lines = 1 + 2 * (layout.num_rows() + spec.variables.size());
  uint64_t names = 0;
  for (const Variable& variable : spec.variables) {
    names += variable.schema.name.size() + variable.schema.unit.size();
    for (const std::string& level : variable.schema.levels) names += level.size();
  }
  return lines * (layout.arms + 1 + (spec.compared.Any() ? 2 : 0)) * kCellBytes + lines * names;
}

}  // namespace partita::methods::describe
