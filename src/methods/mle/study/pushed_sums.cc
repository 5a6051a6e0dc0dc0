// Sums of method `mle` that a database forms: what is asked, and what becomes of it.
#include <fmt/format.h>

#include "base/error.h"
#include "methods/mle/moments/own_moments.h"
#include "methods/mle/published/analyses.h"
#include "methods/mle/study/protocol.h"
#include "methods/mle/study/study.h"
#include "run/method/sum_columns.h"
#include "run/method/whole_rows.h"

namespace partita::methods::mle {
namespace {

using run::NeedsRows;

void RequireSums(const MleStudy& study, size_t party) {
  const study::DesignSpec& design = study.file.design;
  if (study.privacy)
    NeedsRows("noise is made for rows that their holder shortens to a bound", run::kFreezeRows);
  run::RequireOneBlockAlone(study, party);
  run::RequireSumBits(study);
  if (HasPatterns(study))
    NeedsRows("patterns of missing values are found row by row", "write missing = \"complete\"");
  if (study.pattern_table)
    NeedsRows("cells of covariates are counted row by row", "leave out accept = \"checked cells\"");
  if (!design.cluster.empty()) NeedsRows("clusters are formed row by row", run::kFreezeRows);
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
        columns_(study, party),
        computation_(study.computations.front()),
        holder_(
            computation_.task.blocks.at(study.partition.BlocksOf(party).front()).holders.front()) {
    query_.columns = columns_.all();
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
    if (!weights.empty()) query_.weight = {columns_.Of(weights)};
    query_.sets = {columns_.Rows(study_.file.population.subset),
                   Rows({study_.file.population.subset, "", 0})};
    for (const RowSet& row_set : computation_.row_sets)
      query_.sets.push_back(Rows(computation_.selections[row_set.total_cell]));
    return std::move(query_);
  }

 private:
  data::SumRows Rows(const RowSelection& selection) const {
    data::SumRows rows = columns_.Complete(study_.required, columns_.Rows(selection.conditions));
    if (selection.group.empty()) return rows;
    return columns_.OfLevel(selection.group, static_cast<size_t>(selection.level), rows);
  }

  data::SumVariable Variable(const data::DesignColumn& column) const {
    const std::string& name = column.schema.name;
    for (const data::DerivedVariable& derived : study_.file.derived) {
      for (const data::DesignColumn& made : data::ColumnsOf(derived, study_.file.dictionary)) {
        if (made.schema.name == name) columns_.Of(name);  // which is not there
      }
    }
    data::SumVariable variable;
    variable.column = columns_.Of(column.source);
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

  std::vector<double> ByLevel(const data::ColumnSchema& source, const std::string& name) const {
    data::Table table = run::TableOfLevels(source);
    study_.DeriveColumns(table);
    return table.Get(name).numbers;
  }

  const MleStudy& study_;
  const run::SumColumns columns_;
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
