#include "run/method/whole_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/condition.h"
#include "privacy/release_rule.h"
#include "run/method/covariate_table.h"
#include "run/party/finish.h"

namespace partita::run {

std::vector<privacy::ledger::Charge> WholeRowsStudy::Charges(
    const privacy::ledger::Policy& policy) const {
  throw Error(
      ErrorCode::kRefused,
      fmt::format("what study '{}' releases opens without noise, so that no budget of table "
                  "{} covers it",
                  file.name, policy.table),
      "release it as an exact result, or use a method with noise");
}

std::vector<std::vector<uint8_t>> WholeRowsStudy::ExactRowSets(
    const MethodRows& rows, const data::Holding& /*holding*/) const {
  const auto& own = static_cast<const TakenRows&>(rows);
  if (own.only_sums) return {};
  return {own.taken};
}

void RequireWholeRows(const WholeRowsStudy& study, const WholeRowsTexts& texts) {
  const std::string method = study.Method().name;
  const study::DesignSpec& design = study.file.design;
  const bool split =
      study.partition.kind != data::PartitionKind::kHorizontal || !study.shared_blocks.empty();
  if (split && !texts.split_columns) {
    Refuse(
        study, study.Analysis().position,
        fmt::format("method '{}' needs whole rows at each holder; here columns are split", method),
        texts.split);
  }
  const bool fixed = texts.site_effects && design.site == study::SiteEffect::kFixed;
  if (design.site != study::SiteEffect::kIgnore && !fixed) {
    Refuse(study, design.position,
           fmt::format("method '{}' has no {}effects of sites", method,
                       texts.site_effects ? "such " : ""),
           texts.site_effects ? "use site = \"ignore\" or \"fixed\"" : "use site = \"ignore\"");
  }
  if (design.missing != study::MissingPolicy::kRefuse &&
      design.missing != study::MissingPolicy::kComplete) {
    Refuse(study, design.position, fmt::format("method '{}' imputes nothing", method),
           fmt::format("use missing = \"complete\" ({}) or \"refuse\"", texts.complete));
  }
  if (study.file.population.max_rows_per_person > 1 && !texts.several_rows) {
    Refuse(study, study.Analysis().position,
           fmt::format("method '{}' compares numbers of rows with min_cell, and its rows are "
                       "independent; here a person has several",
                       method),
           "give one row per person");
  }
}

void RequireUnweighted(const WholeRowsStudy& study, const std::string& hint) {
  const study::DesignSpec& design = study.file.design;
  if (design.weights.empty() && design.cluster.empty()) return;
  Refuse(study, design.position,
         fmt::format("method '{}' has neither weights nor clusters", study.Method().name), hint);
}

std::vector<RowHolder> RowHoldersOf(const WholeRowsStudy& study, uint64_t most) {
  std::vector<RowHolder> holders;
  uint64_t total = 0;
  for (const data::Holder& holder : study.partition.holders) {
    RowHolder& rows = holders.emplace_back(RowHolder{holder.party, 0});
    for (const size_t block : study.partition.BlocksOf(holder.party))
      rows.max_rows += study.partition.blocks[block].count.value_or(kMaxUndeclaredRows);
    total += rows.max_rows;
  }
  if (total > most) {
    Refuse(study, study.Analysis().position,
           fmt::format("method '{}' takes {} rows at most", study.Method().name, most),
           "declare the numbers of rows as they are");
  }
  return holders;
}

void RequireAssumedRows(const Study& study, const data::Holding& holding) {
  for (const data::BlockRows& rows : holding.blocks)
    RequireAssumedRows(study, rows.block, rows.num_rows);
}

void RequireAssumedRows(const Study& study, size_t block, uint64_t num_rows) {
  const data::RowBlock& of = study.partition.blocks[block];
  if (of.count || num_rows <= kMaxUndeclaredRows) return;
  throw Error(ErrorCode::kBadData,
              fmt::format("block '{}' has {} rows, more than the {} assumed for a block without "
                          "a declared count",
                          of.name, num_rows, kMaxUndeclaredRows),
              "agree on `count = ...` in its [[rows]] entry of the study file");
}

namespace {

// Of names or conditions those on variables that the table has.
template <typename T, typename Name>
std::vector<T> InTable(const WholeRowsStudy& study, const data::Table& table, std::vector<T> all,
                       Name name) {
  std::erase_if(all, [&](const T& item) {
    const std::string source = SourceVariable(study, name(item));
    return std::none_of(table.columns.begin(), table.columns.end(),
                        [&](const data::Column& column) { return column.schema.name == source; });
  });
  return all;
}

}  // namespace

std::vector<size_t> TakeRows(const WholeRowsStudy& study, const data::Table& table,
                             const std::vector<std::string>& needed, TakenRows& rows,
                             OwnRows& counts, bool split_columns) {
  const auto own = [&](const std::vector<data::Condition>& conditions) {
    if (!split_columns) return conditions;
    return InTable(study, table, conditions, [](const data::Condition& c) { return c.variable; });
  };
  const std::vector<std::string> cells =
      split_columns ? InTable(study, table, needed, [](const std::string& name) { return name; })
                    : needed;
  const std::vector<uint8_t> population =
      data::SelectRows(table, own(study.file.population.subset));
  const std::vector<uint8_t> subset = data::SelectRows(table, own(study.Analysis().subset));
  const std::vector<uint8_t> complete = data::CompleteRows(table, cells);
  std::vector<size_t> taken;
  rows.taken.assign(table.num_rows, 0);
  for (size_t r = 0; r < table.num_rows; ++r) {
    if (table.Absent(r)) continue;
    ++counts.observed;
    if (population[r] == 0) {
      ++counts.not_in_population;
    } else if (complete[r] == 0) {
      ++counts.incomplete;
    } else if (subset[r] != 0) {
      taken.push_back(r);
      rows.taken[r] = 1;
    }
  }
  return taken;
}

int FinestGrid(const WholeRowsStudy& study, const GridTexts& texts,
               const std::function<study::PlanBits(int grid_bits)>& bits) {
  const int asked = study.file.release.grid_bits;
  if (asked == 0) {
    Refuse(study, study.Analysis().position,
           fmt::format("method '{}' opens {} on a grid, not with all their digits",
                       study.Method().name, texts.opens),
           "leave `grid` out of [release]");
  }
  for (int grid = asked; grid >= std::min(asked, privacy::kCoarsestGridBits); --grid) {
    if (bits(grid).passes) return grid;
  }
  if (study.file.release.accept == study::AcceptedRelease::kTableOfCovariates) return asked;
  const study::PlanBits most = bits(asked);
  Refuse(study, study.Analysis().position,
         fmt::format("{} would tell up to {} bits, more than half of the {} of the {}", texts.what,
                     most.opened, most.table, kTableOfCovariates),
         std::string(texts.hint) +
             ", promise more rows (min_rows in [disclosure], and where none are left out their "
             "numbers in [[rows]]), or, where it may be known how many rows have each combination "
             "of covariates, as of the arms of a trial, write in [release] accept = \"table of "
             "covariates\" (study new --accept), which every holder then approves with the plan");
}

bool LeavesRowsOut(const WholeRowsStudy& study, bool incomplete) {
  return incomplete || !study.file.population.subset.empty() || !study.Analysis().subset.empty();
}

void RefuseTogether(const Study& study, const RunInput& input, const std::string& what,
                    const std::string& hint) {
  if (input.channel != nullptr) ConfirmRefusal(*input.channel, study.num_computing);
  throw Error(ErrorCode::kRefused, what, hint);
}

}  // namespace partita::run
