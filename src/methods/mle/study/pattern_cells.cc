#include "methods/mle/study/pattern_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "methods/mle/plan/release_bits.h"
#include "methods/mle/published/analyses.h"
#include "methods/mle/study/private_study.h"

namespace partita::methods::mle {
namespace {

using run::Refuse;

constexpr char kWithoutOwnRows[] = "also without each holder's own rows";
constexpr char kTwoValues[] =
    "and among the rows of each pattern of a holder's own columns every column that it lacks has "
    "two values at least";

[[noreturn]] void RefuseCells(const run::Study& study, const std::string& what,
                              const std::string& hint) {
  Refuse(study, study.file.release.accept_position, "accept = \"checked cells\" " + what,
         hint + ", or write accept = \"table of covariates\"");
}

void RequireExactResults(const MleStudy& study) {
  if (HasPrivacy(study.file)) {
    Refuse(study, study.file.release.accept_position,
           "accept = \"checked cells\" is for exact results: with noise no answer of a check may "
           "be told",
           "remove it");
  }
  if (published::HasPublished(study)) {
    Refuse(study, study.file.release.accept_position,
           "accept = \"checked cells\" is of no use beside a published protocol, which shows what "
           "determines rows",
           "remove it");
  }
}

void RequireCountedRows(const MleStudy& study) {
  const study::DesignSpec& design = study.file.design;
  if (HasPatterns(study)) {
    RefuseCells(study, "needs complete rows: one that misses a value is in no cell",
                "use missing = \"refuse\" or \"complete\"");
  }
  if (!design.weights.empty())
    RefuseCells(study, "counts rows, and here they have weights", "leave the weights out");
  if (design.site != study::SiteEffect::kIgnore) {
    RefuseCells(study,
                "counts the rows of all institutions together, and site = \"fixed\" tells "
                "them apart",
                "use site = \"ignore\"");
  }
  const std::vector<data::Condition>& subset = study.file.analyses.front().subset;
  for (const study::AnalysisSpec& spec : study.file.analyses) {
    if (spec.subset == subset) continue;
    RefuseCells(study,
                fmt::format("needs the same rows in all analyses: '{}' has a subset of its own, "
                            "and cells of the rows between them are not checked",
                            spec.name),
                "make it a study of its own");
  }
  if (study.file.disclosure.min_cell < kLeastCheckedCell) {
    RefuseCells(study,
                fmt::format("needs a min_cell of {} or more; it is {}", kLeastCheckedCell,
                            study.file.disclosure.min_cell),
                "raise min_cell in [disclosure]");
  }
}

bool SplitsColumns(const MleStudy& study) {
  return study.partition.kind != data::PartitionKind::kHorizontal;
}

void RequireAllRows(const MleStudy& study) {
  if (!SplitsColumns(study)) return;
  const bool subset =
      !study.file.population.subset.empty() || !study.file.analyses.front().subset.empty();
  if (!subset && study.file.design.missing == study::MissingPolicy::kRefuse) return;
  RefuseCells(study,
              fmt::format("needs all rows where columns are split: {} which of the rows that a "
                          "holder knows another one leaves out, and these are not checked",
                          subset ? "a subset tells" : "missing = \"complete\" tells"),
              subset ? "leave the subset out" : "use missing = \"refuse\"");
}

// Covariates, and what is an outcome in one line of the model and explains in another.
std::vector<data::DesignColumn> TableColumns(const MleStudy& study, const MleAnalysis& analysis) {
  std::set<std::string> explains;
  for (const stats::Parameter& row : analysis.table.rows) {
    if (row.op == "~") explains.insert(row.rhs);
  }
  std::vector<data::DesignColumn> columns = CovariatesOf(study, analysis);
  for (const data::DesignColumn& column : analysis.variables) {
    if (explains.count(column.schema.name) > 0) columns.push_back(column);
  }
  return columns;
}

// As ViewsOf, over all analyses.
std::map<std::string, std::set<std::string>> Views(const MleStudy& study) {
  std::vector<data::DesignColumn> columns;
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    const MleAnalysis& analysis = study.analyses[a].analysis;
    const std::vector<data::DesignColumn> added =
        MleOf(study.file.analyses[a]).robust ? analysis.variables : TableColumns(study, analysis);
    columns.insert(columns.end(), added.begin(), added.end());
  }
  std::map<std::string, std::set<std::string>> views = run::ViewsOf(columns);
  for (const study::AnalysisSpec& spec : study.file.analyses) {
    const std::string& group = MleOf(spec).group;
    if (!group.empty()) views[run::SourceVariable(study, group)].insert(group);
  }
  return views;
}

// 0: not discrete.
uint64_t NumValues(const data::ColumnSchema& variable) {
  if (!variable.levels.empty()) return variable.levels.size();
  const bool whole =
      variable.type == data::ColumnType::kInteger || variable.type == data::ColumnType::kDate;
  return whole ? static_cast<uint64_t>(variable.upper - variable.lower) + 1 : 0;
}

void AddPart(const MleStudy& study, const data::ColumnSchema& variable, PatternTable& patterns) {
  const uint64_t values = NumValues(variable);
  if (values == 0) {
    RefuseCells(
        study,
        fmt::format("counts the rows of every combination of values{}, and '{}' may be "
                    "any number within its bounds",
                    SplitsColumns(study) ? ", outcomes included where columns are split" : "",
                    variable.name),
        "cut it (transform = \"cut\" in [[derived]]), leave it out");
  }
  patterns.parts.push_back({variable.name, variable.lower, values});
  // Saturates: 2 x 2^52 values of whole numbers are as many too many as any.
  const uint64_t most = kMaxPatternCells + 1;
  patterns.num_cells = std::min(most, patterns.num_cells * std::min(most, values));
}

// Of the table's parts those that the holder has: the variables that they are made of.
std::vector<size_t> PartsOf(const MleStudy& study, const data::Holder& holder) {
  std::vector<size_t> parts;
  for (size_t p = 0; p < study.pattern_table->parts.size(); ++p) {
    const std::string source = SourceVariable(study, study.pattern_table->parts[p].column);
    if (std::count(holder.columns.begin(), holder.columns.end(), source) > 0) parts.push_back(p);
  }
  return parts;
}

}  // namespace

std::optional<PatternTable> PlanPatternTable(const MleStudy& study) {
  if (study.file.release.accept != study::AcceptedRelease::kCheckedCells) return std::nullopt;
  RequireExactResults(study);
  RequireCountedRows(study);
  RequireAllRows(study);
  PatternTable patterns;
  for (const auto& [source, views] : Views(study)) {
    if (views.count(source) > 0) {
      AddPart(study, *study.file.dictionary.Find(source), patterns);
      continue;
    }
    for (const std::string& view : views) AddPart(study, *study.factors.Find(view), patterns);
  }
  if (patterns.num_cells > kMaxPatternCells) {
    RefuseCells(study,
                fmt::format("checks {} cells at most, and the values of {} have more combinations",
                            kMaxPatternCells, PatternNames(patterns)),
                "use fewer covariates or values");
  }
  return patterns;
}

std::string PatternNames(const PatternTable& patterns) {
  std::string names;
  for (const PatternPart& part : patterns.parts) names += (names.empty() ? "" : ", ") + part.column;
  return names;
}

PatternTask PatternTaskOf(const MleStudy& study) {
  PatternTask task;
  for (const PatternPart& part : study.pattern_table->parts) task.parts.push_back(part.num_values);
  for (const data::Holder& holder : study.partition.holders)
    task.holders.push_back({holder.party, PartsOf(study, holder)});
  for (const data::Segment& segment : study.partition.segments) {
    CellBlock& block = task.blocks.emplace_back();
    for (const data::SegmentPart& part : segment.parts) block.holders.push_back(part.holder);
    block.max_rows = study.partition.blocks[segment.block].count.value_or(run::kMaxUndeclaredRows);
  }
  return task;
}

OwnPatterns OwnPatternsOf(const MleStudy& study, const data::Holding& holding,
                          const std::vector<int32_t>& weights) {
  const data::Table& table = *holding.table;
  std::vector<uint32_t> pattern(table.num_rows, 0);
  for (const size_t p : PartsOf(study, *study.partition.HolderOf(holding.party))) {
    const PatternPart& part = study.pattern_table->parts[p];
    const data::Column& column = table.Get(part.column);
    for (size_t r = 0; r < table.num_rows; ++r) {
      if (weights[r] == 0) continue;
      const double value =
          column.schema.levels.empty() ? column.numbers[r] - part.lower : column.codes[r];
      if (!(value >= 0 && value < static_cast<double>(part.num_values)))
        throw Error(ErrorCode::kInternal, "a row that takes part has a value of no cell");
      pattern[r] = static_cast<uint32_t>(pattern[r] * part.num_values + static_cast<size_t>(value));
    }
  }
  OwnPatterns patterns(study.partition.blocks.size());
  for (const data::BlockRows& rows : holding.blocks) {
    for (size_t r = rows.first_row; r < rows.first_row + rows.num_rows; ++r) {
      if (weights[r] != 0) patterns[rows.block].push_back(pattern[r]);
    }
  }
  return patterns;
}

std::string BesideOwnText(const MleStudy& study) {
  if (!SplitsColumns(study)) return kWithoutOwnRows;
  if (study.partition.kind == data::PartitionKind::kVertical) return kTwoValues;
  return fmt::format("{}, {}", kWithoutOwnRows, kTwoValues);
}

mpc::Release PatternCellsRelease(const MleStudy& study) {
  const PatternTable& patterns = *study.pattern_table;
  return {kPatternCellsRelease,
          fmt::format("one bit: whether all {} pattern cells of {} are 0 or at least min_cell, {}",
                      patterns.num_cells, PatternNames(patterns), BesideOwnText(study)),
          "all",
          "exact",
          1,
          mpc::kEverybody,
          1};
}

study::PlanCheck PatternCellsCheck(const MleStudy& study, uint64_t min_cell) {
  const PatternTable& patterns = *study.pattern_table;
  return {study.analyses.size() == 1 ? study.file.analyses.front().name : "all analyses",
          "pattern cells",
          fmt::format("each of {} combinations of values of {} has no row or at least {}, {} (one "
                      "bit for all)",
                      patterns.num_cells, PatternNames(patterns), min_cell, BesideOwnText(study)),
          min_cell, false};
}

}  // namespace partita::methods::mle
