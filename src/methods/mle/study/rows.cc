// The rows of method `mle`: design columns in the ring, selectors of every cell, clusters.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "methods/mle/study/computations.h"
#include "methods/mle/study/load_blocks.h"
#include "methods/mle/study/pattern_cells.h"
#include "methods/mle/study/protocol.h"
#include "methods/mle/study/selectors.h"
#include "run/method/whole_rows.h"

namespace partita::methods::mle {
namespace {

using run::MethodRows;

// The design columns that some computation uses and this table can give.
void AddColumns(const MleStudy& study, data::Table& table) {
  std::vector<std::string> names;
  for (const Computation& computation : study.computations) {
    for (const data::DesignColumn& column : computation.variables)
      names.push_back(column.schema.name);
  }
  data::AddDesignColumns(table, study.file.dictionary, study.file.derived, names);
  const auto has = [&](const std::string& name) {
    return std::any_of(table.columns.begin(), table.columns.end(),
                       [&](const data::Column& column) { return column.schema.name == name; });
  };
  for (const data::DesignColumn& indicator : IndicatorColumns(study)) {
    if (!has(indicator.factor)) continue;
    const data::Column& factor = table.Get(indicator.factor);
    const auto level = static_cast<int32_t>(
        std::find(factor.schema.levels.begin(), factor.schema.levels.end(), indicator.level) -
        factor.schema.levels.begin());
    data::Column column;
    column.schema = indicator.schema;
    for (int32_t code : factor.codes) {
      column.numbers.push_back(code < 0        ? std::numeric_limits<double>::quiet_NaN()
                               : code == level ? 1
                                               : 0);
    }
    table.columns.push_back(std::move(column));
  }
}

// Values less the block's mean of their column where it is centred, rounded to the grid: exact
// integers again.
mpc::RowReader Centred(mpc::RowReader values, size_t num_rows, const std::vector<bool>& centred) {
  const size_t cols = centred.size();
  std::vector<Int128> mean(cols), row(cols);
  for (size_t r = 0; r < num_rows; ++r) {
    values(r, 1, row.data());
    for (size_t c = 0; c < cols; ++c) mean[c] += row[c];
  }
  const auto n = static_cast<Int128>(num_rows);
  for (size_t c = 0; c < cols; ++c) {
    const Int128 sum = centred[c] ? mean[c] : 0;
    mean[c] = sum >= 0 ? (2 * sum + n) / (2 * n) : -((-2 * sum + n) / (2 * n));
  }
  return [values = std::move(values), mean = std::move(mean), cols](size_t first, size_t num,
                                                                    Int128* out) {
    values(first, num, out);
    for (size_t i = 0; i < num * cols; ++i) out[i] -= mean[i % cols];
  };
}

// Nothing of the rows of the block that are neutral.
mpc::RowReader WithoutNeutral(mpc::RowReader values, size_t cols, const data::Holding& holding,
                              const data::BlockRows& rows) {
  if (holding.table->neutral.empty()) return values;
  return [values = std::move(values), cols, table = holding.table, first_row = rows.first_row](
             size_t first, size_t num, Int128* out) {
    values(first, num, out);
    for (size_t r = 0; r < num; ++r) {
      if (table->Neutral(first_row + first + r)) std::fill_n(out + r * cols, cols, Int128{0});
    }
  };
}

LocalBlock LoadBlock(const MleStudy& study, const Computation& computation,
                     const BlockHolder& holder, const data::Holding& holding, size_t block_index,
                     const std::vector<std::vector<int32_t>>& by_cell) {
  const data::BlockRows& rows = holding.Block(block_index);
  LocalBlock block;
  block.num_rows = rows.num_rows;
  std::vector<std::string> columns;
  std::vector<data::ColumnScale> scales;
  for (size_t v : holder.variables) {
    columns.push_back(computation.variables[v].schema.name);
    scales.push_back(data::ScaleOf(computation.variables[v].schema));
  }
  if (!columns.empty()) {
    block.values =
        data::ScaledRows(holding, block_index, columns, computation.task.fraction_bits, scales);
    if (!computation.task.centred.empty() && rows.shared) {
      std::vector<bool> centred;
      for (size_t v : holder.variables) centred.push_back(computation.task.Centred(v));
      block.values = Centred(std::move(block.values), rows.num_rows, centred);
    }
    if (study.privacy) {
      block.values = WithoutNeutral(std::move(block.values), columns.size(), holding, rows);
      block.values = ClippedRows(
          std::move(block.values), columns.size(),
          HolderBound(study.privacy->promise.norm, columns.size(), study.privacy->dimension));
    }
  }
  block.selectors.resize(computation.task.cells.size());
  for (size_t c = 0; c < block.selectors.size(); ++c) {
    if (!holder.Selects(c)) continue;
    const auto first = by_cell[c].begin() + static_cast<std::ptrdiff_t>(rows.first_row);
    block.selectors[c].assign(first, first + static_cast<std::ptrdiff_t>(rows.num_rows));
  }
  return block;
}

}  // namespace

std::vector<LocalBlock> LoadBlocks(const MleStudy& study, const Computation& computation,
                                   size_t party, const data::Holding& holding,
                                   const Selectors& selectors) {
  std::vector<std::vector<int32_t>> by_cell;
  for (const RowSelection& selection : computation.selections)
    by_cell.push_back(selectors.Of(selection));
  std::vector<LocalBlock> blocks(computation.task.blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (const BlockHolder& holder : computation.task.blocks[b].holders) {
      if (holder.party == party)
        blocks[b] = LoadBlock(study, computation, holder, holding, b, by_cell);
    }
  }
  return blocks;
}

namespace {

// By block and row; rows with equal numbers belong together, within this party.
std::vector<std::vector<uint64_t>> Clusters(const MleStudy& study, const data::Holding& holding) {
  std::vector<std::vector<uint64_t>> clusters(study.partition.blocks.size());
  const std::string& name = study.file.design.cluster;
  if (name.empty() || study.privacy) return clusters;  // a noisy release takes none
  const data::Column& column = holding.table->Get(name);
  for (const data::BlockRows& rows : holding.blocks) {
    for (size_t r = rows.first_row; r < rows.first_row + rows.num_rows; ++r) {
      clusters[rows.block].push_back(column.codes.empty() ? static_cast<uint64_t>(column.numbers[r])
                                                          : static_cast<uint64_t>(column.codes[r]));
    }
  }
  return clusters;
}

}  // namespace

void MleStudy::DeriveColumns(data::Table& table) const { AddColumns(*this, table); }

std::unique_ptr<MethodRows> MleStudy::PrepareRows(size_t party, const data::Holding& holding,
                                                  run::OwnRows& counts) const {
  const Selectors selectors(*this, holding, party);
  selectors.RequireListedPatterns(holding);
  counts = selectors.Count();
  run::RequireAssumedRows(*this, holding);
  auto rows = std::make_unique<LocalRows>();
  rows->clusters = Clusters(*this, holding);
  for (const Computation& computation : computations)
    rows->blocks.push_back(LoadBlocks(*this, computation, party, holding, selectors));
  if (pattern_table) {
    const Computation& first = computations.front();  // all have the same rows
    const RowSelection& all = first.selections[first.row_sets.front().total_cell];
    rows->patterns = OwnPatternsOf(*this, holding, selectors.Of(all));
  }
  return rows;
}

std::unique_ptr<MethodRows> MleStudy::NoRows() const {
  auto rows = std::make_unique<LocalRows>();
  for (const Computation& computation : computations)
    rows->blocks.emplace_back(computation.task.blocks.size());
  return rows;
}

std::vector<std::vector<uint8_t>> MleStudy::ExactRowSets(const MethodRows& rows,
                                                         const data::Holding& holding) const {
  if (privacy) return {};
  const auto& local = static_cast<const LocalRows&>(rows);
  if (local.only_sums) return {};
  if (!local.passed_sets.empty()) return local.passed_sets;
  std::vector<std::vector<uint8_t>> sets;
  for (size_t c = 0; c < computations.size(); ++c) {
    for (const RowSet& row_set : computations[c].row_sets) {
      std::vector<uint8_t>& chosen = sets.emplace_back(holding.table->num_rows, uint8_t{1});
      for (const data::BlockRows& block : holding.blocks) {
        const auto& selectors = local.blocks[c][block.block].selectors;
        // What another holder selects, this one does not know.
        if (selectors.empty() || selectors[row_set.total_cell].empty()) continue;
        for (size_t r = 0; r < block.num_rows; ++r)
          chosen[block.first_row + r] = selectors[row_set.total_cell][r] != 0 ? 1 : 0;
      }
    }
  }
  return sets;
}

uint64_t MleStudy::LeastRowsApart() const {
  size_t widest = 0;
  for (const PreparedAnalysis& analysis : analyses)
    widest = std::max(widest, analysis.variables.size());
  return std::max<uint64_t>(file.disclosure.min_cell, run::kRowsApartPerColumn * widest);
}

}  // namespace partita::methods::mle
