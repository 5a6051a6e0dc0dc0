#include "methods/mle/study/computations.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "data/scaling.h"
#include "methods/mle/sealed/sample.h"
#include "methods/mle/study/missing_patterns.h"
#include "methods/mle/study/private_study.h"

namespace partita::methods::mle {
namespace {

using run::SourceVariable;

template <typename T>
size_t IndexOf(const std::vector<T>& list, const T& item) {
  return static_cast<size_t>(std::find(list.begin(), list.end(), item) - list.begin());
}

template <typename T>
void AddOnce(std::vector<T>& list, const T& item) {
  if (IndexOf(list, item) == list.size()) list.push_back(item);
}

size_t VariableIndex(Computation& computation, const data::DesignColumn& column) {
  for (size_t v = 0; v < computation.variables.size(); ++v) {
    if (computation.variables[v].schema.name == column.schema.name) return v;
  }
  computation.variables.push_back(column);
  return computation.variables.size() - 1;
}

size_t ComputationIndex(MleStudy& study, const std::string& protocol) {
  for (size_t c = 0; c < study.computations.size(); ++c) {
    if (study.computations[c].protocol == protocol) return c;
  }
  study.computations.push_back({});
  study.computations.back().protocol = protocol;
  study.computations.back().task.cells.clear();
  return study.computations.size() - 1;
}

size_t AddCell(Computation& computation, RowCell cell, RowSelection selection) {
  computation.task.cells.push_back(std::move(cell));
  computation.selections.push_back(std::move(selection));
  return computation.task.cells.size() - 1;
}

// By pattern of missing values, for one level of the group or without groups.
void AddPatternCells(const MleStudy& study, Computation& computation, const std::string& name,
                     RowSelection selection, RowSet& rows) {
  for (size_t k = 0; k < study.file.design.patterns.size(); ++k) {
    selection.pattern = k;
    rows.cells.push_back(AddCell(computation, {name, std::nullopt}, selection));
  }
}

// The total, and with a grouping factor one cell for each level, the last as the difference; with
// patterns of missing values the total is counted only.
RowSet AddRowSet(const MleStudy& study, Computation& computation,
                 const std::vector<data::Condition>& subset, const std::string& group) {
  RowSet rows{subset, group, {}, 0, {}, {}};
  RowSelection selection{study.file.population.subset, "", 0};
  selection.conditions.insert(selection.conditions.end(), subset.begin(), subset.end());
  const bool fiml = HasPatterns(study);
  rows.total_cell = AddCell(computation, {"", std::nullopt, fiml}, selection);
  if (group.empty()) {
    if (fiml) {
      AddPatternCells(study, computation, "", selection, rows);
    } else {
      rows.cells = {rows.total_cell};
    }
    return rows;
  }
  const std::vector<std::string>& levels = study.factors.Find(group)->levels;
  selection.group = group;
  for (size_t level = 0; level < levels.size(); ++level) {
    selection.level = static_cast<int32_t>(level);
    if (fiml) {
      AddPatternCells(study, computation, levels[level], selection, rows);
      continue;
    }
    RowCell cell{levels[level], std::nullopt};
    if (level + 1 == levels.size())
      cell.difference = RowCell::Difference{rows.total_cell, rows.cells};
    rows.cells.push_back(AddCell(computation, std::move(cell), selection));
  }
  return rows;
}

size_t RowSetIndex(const MleStudy& study, Computation& computation,
                   const std::vector<data::Condition>& subset, const std::string& group) {
  for (size_t r = 0; r < computation.row_sets.size(); ++r) {
    if (computation.row_sets[r].subset == subset && computation.row_sets[r].group == group)
      return r;
  }
  computation.row_sets.push_back(AddRowSet(study, computation, subset, group));
  return computation.row_sets.size() - 1;
}

void PlaceAnalysis(MleStudy& study, size_t index) {
  const study::AnalysisSpec& spec = study.file.analyses[index];
  PreparedAnalysis& analysis = study.analyses[index];
  analysis.computation = ComputationIndex(study, spec.protocol);
  Computation& computation = study.computations[analysis.computation];
  for (const data::DesignColumn& column : analysis.analysis.variables) {
    analysis.variables.push_back(VariableIndex(computation, column));
    for (const std::string& source : data::SourcesOf(column)) {
      AddOnce(study.used, source);
      AddOnce(study.modelled, source);
    }
  }
  for (const study::MissingPattern& pattern : study.file.design.patterns) {
    std::vector<size_t> observed;
    for (size_t v = 0; v < analysis.variables.size(); ++v) {
      if (!Lacks(pattern, analysis.analysis.variables[v])) observed.push_back(v);
    }
    analysis.analysis.patterns.push_back(std::move(observed));
  }
  const std::string& group = MleOf(spec).group;
  if (!group.empty()) AddOnce(study.used, SourceVariable(study, group));
  analysis.row_set = RowSetIndex(study, computation, spec.subset, group);
  computation.row_sets[analysis.row_set].analyses.push_back(index);
}

// Whether the holder decides by its own columns which rows of a block are in a cell.
bool HolderSelects(const MleStudy& study, const RowSelection& selection,
                   const std::set<std::string>& held) {
  const auto holds = [&](const std::string& name) {
    return held.count(SourceVariable(study, name)) > 0;
  };
  if (!selection.group.empty() && holds(selection.group)) return true;
  if (!study.file.design.weights.empty() && holds(study.file.design.weights)) return true;
  if (std::any_of(study.required.begin(), study.required.end(), holds)) return true;
  if (selection.pattern && std::any_of(study.modelled.begin(), study.modelled.end(), holds))
    return true;
  return std::any_of(selection.conditions.begin(), selection.conditions.end(),
                     [&](const data::Condition& condition) { return holds(condition.variable); });
}

// Fixed effects take the means out of the variables of the analyses, so that their sums count
// nothing: 0/1 columns enter a second time.
void CountVariables(const MleStudy& study, size_t analysed, Computation& computation) {
  const size_t known = computation.variables.size();
  for (size_t v = 0; v < known; ++v) computation.counted.push_back(v);
  if (study.file.design.site != study::SiteEffect::kFixed) return;
  for (size_t v = 0; v < analysed; ++v) {
    const data::DesignColumn column = computation.variables[v];
    if (column.schema.lower != 0 || column.schema.upper != 1) continue;
    computation.counted[v] = computation.variables.size();
    computation.counted.push_back(computation.variables.size());
    computation.variables.push_back(column);
  }
  for (size_t v = 0; v < computation.variables.size(); ++v)
    computation.task.centred.push_back(v < analysed);
}

void AddBlocks(const MleStudy& study, Computation& computation) {
  MomentsTask& task = computation.task;
  task.num_variables = computation.variables.size();
  if (!study.file.design.weights.empty()) {
    task.max_weight =
        static_cast<int32_t>(study.file.dictionary.Find(study.file.design.weights)->upper);
  }
  const bool centred = !task.centred.empty();
  for (const data::Segment& segment : study.partition.segments) {
    const data::RowBlock& rows = study.partition.blocks[segment.block];
    RowBlock block;
    block.name = rows.name;
    if (segment.shared()) block.count = rows.count;
    if (segment.shared() && centred) task.value_bound = 2;
    for (const data::SegmentPart& part : segment.parts) {
      BlockHolder holder;
      holder.party = part.party;
      std::set<std::string> held;
      for (size_t v : part.variables) held.insert(study.partition.variables[v]);
      for (size_t v = 0; v < task.num_variables; ++v) {
        if (held.count(computation.variables[v].source) > 0) holder.variables.push_back(v);
      }
      // Where nobody knows which rows match, every holder selects those that it has, also one of
      // whose columns no analysis is.
      for (const RowSelection& selection : computation.selections)
        holder.selects.push_back(rows.hidden || HolderSelects(study, selection, held));
      for (size_t c = 0; c < task.cells.size(); ++c) {
        if (task.cells[c].difference) holder.selects[c] = false;
      }
      const bool selects =
          std::find(holder.selects.begin(), holder.selects.end(), true) != holder.selects.end();
      if (!holder.variables.empty() || selects) block.holders.push_back(std::move(holder));
    }
    task.max_rows +=
        rows.count.value_or(run::kMaxUndeclaredRows) * static_cast<uint64_t>(task.max_weight);
    task.blocks.push_back(std::move(block));
  }
  // Four times a count must fit for the disclosure checks, and the square of the bound.
  const uint64_t room = 4 * static_cast<uint64_t>(task.value_bound * task.value_bound);
  const int unused_bits = 128 - run::IntegerBits(study);
  if (HasPrivacy(study.file)) {
    task.fraction_bits = kPrivateFractionBits;
    return;
  }
  if (computation.protocol == kSealed || IsImputed(study)) {
    task.fraction_bits = kSealedInputBits;
    return;
  }
  if (computation.protocol == kLikelihood) {
    task.fraction_bits = kLikelihoodFractionBits;
    return;
  }
  const int finest = data::MomentFractionBits((room * task.max_rows) << unused_bits);
  task.fraction_bits = std::min(finest, study.file.engine.input_bits.value_or(finest));
}

void AddRelease(const MleStudy& study, const Computation& computation, RowSet& rows) {
  rows.release.receiver = study.receiver;
  rows.release.cells = rows.cells;
  rows.release.id = "moments";
  if (computation.row_sets.size() > 1)
    rows.release.id += "-" + study.file.analyses[rows.analyses.front()].name;
  std::set<size_t> variables;
  std::set<std::pair<size_t, size_t>> pairs;
  for (size_t analysis : rows.analyses) {
    std::vector<size_t> own = study.analyses[analysis].variables;
    std::sort(own.begin(), own.end());
    variables.insert(own.begin(), own.end());
    for (const auto& pair : AllPairs(own)) pairs.insert(pair);
  }
  rows.release.variables.assign(variables.begin(), variables.end());
  rows.release.pairs.assign(pairs.begin(), pairs.end());
  const std::vector<study::MissingPattern>& patterns = study.file.design.patterns;
  for (size_t c = 0; c < rows.cells.size() && !patterns.empty(); ++c) {
    const study::MissingPattern& missing = patterns[c % patterns.size()];
    rows.release.absent.emplace_back();
    for (size_t v : rows.release.variables) {
      if (Lacks(missing, computation.variables[v])) rows.release.absent.back().push_back(v);
    }
  }
}

// Rows without them take no part: with missing = "complete" all variables that are used, with
// "fiml" groups and weights.
std::vector<std::string> RequiredVariables(const MleStudy& study) {
  if (study.file.design.missing == study::MissingPolicy::kComplete) return study.used;
  std::vector<std::string> required;
  if (!HasPatterns(study)) return required;
  for (const study::AnalysisSpec& spec : study.file.analyses) {
    const std::string& group = MleOf(spec).group;
    if (!group.empty()) AddOnce(required, SourceVariable(study, group));
  }
  if (!study.file.design.weights.empty()) AddOnce(required, study.file.design.weights);
  return required;
}

}  // namespace

bool IsBinary(const data::ColumnSchema& column) { return column.lower == 0 && column.upper == 1; }

std::vector<data::DesignColumn> IndicatorColumns(const MleStudy& study) {
  std::set<std::string> factors;
  if (HasPrivacy(study.file)) return {};  // no checks
  for (const PreparedAnalysis& analysis : study.analyses) {
    for (const data::DesignColumn& column : analysis.analysis.variables) {
      const data::ColumnSchema* source = study.factors.Find(column.source);
      if (source != nullptr && !source->levels.empty() && column.level.empty())
        factors.insert(source->name);
    }
  }
  std::vector<data::DesignColumn> columns;
  for (const std::string& name : factors) {
    const data::ColumnSchema& factor = *study.factors.Find(name);
    for (size_t level = 1; level < factor.levels.size(); ++level) {
      data::DesignColumn column;
      column.schema.name = name + " is " + factor.levels[level];
      column.schema.upper = 1;
      column.source = SourceVariable(study, name);
      column.factor = name;
      column.level = factor.levels[level];
      columns.push_back(std::move(column));
    }
  }
  return columns;
}

void PlanComputations(MleStudy& study) {
  for (size_t a = 0; a < study.analyses.size(); ++a) PlaceAnalysis(study, a);
  if (!study.file.design.weights.empty()) AddOnce(study.used, study.file.design.weights);
  study.required = RequiredVariables(study);
  const std::vector<data::DesignColumn> indicators = IndicatorColumns(study);
  for (Computation& computation : study.computations) {
    const size_t analysed = computation.variables.size();
    for (const data::DesignColumn& column : indicators) VariableIndex(computation, column);
    CountVariables(study, analysed, computation);
    AddBlocks(study, computation);
    for (RowSet& rows : computation.row_sets) AddRelease(study, computation, rows);
  }
}

}  // namespace partita::methods::mle
