// Sums of method `mle` that a database forms: what is asked, and what becomes of it.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/mle/moments/own_moments.h"
#include "methods/mle/published/analyses.h"
#include "methods/mle/study/protocol.h"
#include "methods/mle/study/study.h"
#include "run/method/whole_rows.h"

namespace partita::methods::mle {
namespace {

[[noreturn]] void NeedsRows(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kRefused, what + ", and only sums leave the database", hint);
}

constexpr char kFreeze[] =
    "freeze the rows instead: leave out mode = \"push-down\" in the source file";

void RequireSums(const MleStudy& study, size_t party) {
  const study::DesignSpec& design = study.file.design;
  if (study.privacy)
    NeedsRows("noise is made for rows that their holder shortens to a bound", kFreeze);
  if (!data::HoldsOneBlockAlone(study.partition, party))
    NeedsRows("rows whose columns are split, or of several blocks, go on shares one by one",
              kFreeze);
  if (!study.file.engine.input_bits || *study.file.engine.input_bits > data::kMostSumBits) {
    NeedsRows("a database adds up exactly on a grid of 30 bits or fewer, which all holders use",
              "write input_bits = 30 in [engine] of the study file");
  }
  if (HasPatterns(study))
    NeedsRows("patterns of missing values are found row by row", "write missing = \"complete\"");
  if (study.pattern_table)
    NeedsRows("cells of covariates are counted row by row", "leave out accept = \"checked cells\"");
  if (!design.cluster.empty()) NeedsRows("clusters are formed row by row", kFreeze);
  for (const study::AnalysisSpec& analysis : study.file.analyses) {
    if (MleOf(analysis).robust)
      NeedsRows("robust standard errors are sums of products that are formed row by row",
                "leave out robust = true, or freeze the rows");
    if (analysis.protocol != kPooledMoments)
      NeedsRows(fmt::format("protocol '{}' takes rows", analysis.protocol),
                "use protocol = \"pooled-moments\"");
  }
}

// From a study to a query.
class QueryMaker {
 public:
  QueryMaker(const MleStudy& study, size_t party)
      : study_(study),
        held_(study.partition.HolderOf(party)->columns),
        computation_(study.computations.front()),
        holder_(
            computation_.task.blocks.at(study.partition.BlocksOf(party).front()).holders.front()) {
    const data::Schema schema =
        data::SchemaForParty(study.file.dictionary, study.partition, party, study.row_columns);
    for (const data::ColumnSchema& column : schema.columns) {
      if (column.type != data::ColumnType::kSurvival && column.type != data::ColumnType::kKey)
        query_.columns.push_back(column);
    }
  }

  data::SumQuery Make() {
    query_.bits = computation_.task.fraction_bits;
    for (const size_t v : holder_.variables)
      query_.variables.push_back(Variable(computation_.variables[v]));
    for (size_t c = 0; c < computation_.task.cells.size(); ++c) {
      if (!computation_.task.cells[c].difference)
        query_.cells.push_back(Rows(computation_.selections[c]));
    }
    const std::string& weights = study_.file.design.weights;
    if (!weights.empty()) query_.weight = {ColumnOf(weights)};
    query_.sets = {Conditions(study_.file.population.subset),
                   Rows({study_.file.population.subset, "", 0})};
    for (const RowSet& row_set : computation_.row_sets)
      query_.sets.push_back(Rows(computation_.selections[row_set.total_cell]));
    return std::move(query_);
  }

 private:
  size_t ColumnOf(const std::string& name) const {
    for (size_t c = 0; c < query_.columns.size(); ++c) {
      if (query_.columns[c].name == name) return c;
    }
    NeedsRows(fmt::format("'{}' is derived from another variable by this program", name),
              "derive it in the query, as a variable of the dictionary, or freeze the rows");
  }

  // Whoever holds rows alone decides by all that it has; of the rest nothing is asked.
  data::SumRows Conditions(const std::vector<data::Condition>& conditions) const {
    data::SumRows rows;
    for (const data::Condition& condition : conditions)
      rows.push_back({ColumnOf(condition.variable), condition});
    return rows;
  }

  data::SumRows Rows(const RowSelection& selection) const {
    data::SumRows rows = Conditions(selection.conditions);
    for (const std::string& name : study_.required) {
      if (std::find(held_.begin(), held_.end(), name) == held_.end()) continue;
      data::Condition there;
      there.variable = name;
      there.kind = data::Condition::Kind::kPresent;
      rows.push_back({ColumnOf(name), there});
    }
    if (selection.group.empty()) return rows;
    const size_t group = ColumnOf(selection.group);
    data::Condition is_level;
    is_level.variable = selection.group;
    is_level.levels = {query_.columns[group].levels.at(static_cast<size_t>(selection.level))};
    rows.push_back({group, is_level});
    return rows;
  }

  data::SumVariable Variable(const data::DesignColumn& column) const {
    const std::string& name = column.schema.name;
    for (const data::DerivedVariable& derived : study_.file.derived) {
      for (const data::DesignColumn& made : data::ColumnsOf(derived, study_.file.dictionary)) {
        if (made.schema.name == name) ColumnOf(name);  // which is not there
      }
    }
    data::SumVariable variable;
    variable.column = ColumnOf(column.source);
    variable.scale = data::ScaleOf(column.schema);
    const data::ColumnSchema& source = query_.columns[variable.column];
    if (!data::HasLevels(source.type)) return variable;
    for (const double value : ByLevel(source, name)) {
      variable.by_level.push_back(
          data::RoundToGrid(data::ToUnitInterval(value, variable.scale), query_.bits));
    }
    variable.scale = {};
    return variable;
  }

  // The column's values in a table that has each level once.
  std::vector<double> ByLevel(const data::ColumnSchema& source, const std::string& name) const {
    data::Table table;
    table.num_rows = source.levels.size();
    data::Column& column = table.columns.emplace_back();
    column.schema = source;
    for (size_t level = 0; level < source.levels.size(); ++level)
      column.codes.push_back(static_cast<int32_t>(level));
    study_.DeriveColumns(table);
    return table.Get(name).numbers;
  }

  const MleStudy& study_;
  const std::vector<std::string>& held_;
  const Computation& computation_;
  const BlockHolder& holder_;
  data::SumQuery query_;
};

OwnMoments MomentsOf(const MomentsTask& task, const BlockHolder& holder,
                     const data::SumAnswer& answer) {
  OwnMoments own = NoMoments(task);
  const size_t p = task.num_variables;
  auto cell = answer.cells.begin();
  for (size_t c = 0; c < task.cells.size(); ++c) {
    if (task.cells[c].difference) continue;
    own.counts[c] = cell->n;
    size_t at = 0;
    for (size_t i = 0; i < holder.variables.size(); ++i) {
      const size_t vi = holder.variables[i];
      own.sums[c * p + vi] = cell->sums.at(i);
      for (size_t j = 0; j <= i; ++j)
        own.cross[(c * p + vi) * p + holder.variables[j]] = cell->products.at(at++);
    }
    ++cell;
  }
  return own;
}

}  // namespace

data::SumQuery MleStudy::SumsOf(size_t party) const {
  RequireSums(*this, party);
  return QueryMaker(*this, party).Make();
}

std::unique_ptr<run::MethodRows> MleStudy::TakeSums(size_t party, const data::SumAnswer& answer,
                                                    run::OwnRows& counts) const {
  const size_t block = partition.BlocksOf(party).front();
  counts = {};
  counts.observed = static_cast<uint64_t>(answer.rows);
  counts.not_in_population = static_cast<uint64_t>(answer.rows - answer.sets.at(0));
  counts.incomplete = static_cast<uint64_t>(answer.sets[0] - answer.sets.at(1));
  run::RequireAssumedRows(*this, block, counts.observed);
  auto rows = std::make_unique<LocalRows>();
  rows->only_sums = true;
  rows->clusters.resize(partition.blocks.size());
  const MomentsTask& task = computations.front().task;
  rows->blocks.emplace_back(task.blocks.size());
  rows->blocks[0][block] = BlockOfSums(task, block, counts.observed,
                                       MomentsOf(task, task.blocks[block].holders.front(), answer));
  return rows;
}

}  // namespace partita::methods::mle
