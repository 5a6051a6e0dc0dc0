#include "methods/glm/counts.h"

#include <algorithm>
#include <numeric>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/small_cells.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::SharedBits;

constexpr uint64_t kFreedom = 10, kRowsPerColumn = 3;

size_t TableCells(const Task& task) {
  return std::accumulate(task.table_sizes.begin(), task.table_sizes.end(), size_t{0});
}

Shared CountOfAll(Engine& engine, const Task& task, const std::vector<Shared>& by_holder,
                  size_t cell) {
  Shared sum = engine.Slice(by_holder.front(), cell, 0, {1, 1});
  for (size_t h = 1; h < by_holder.size(); ++h)
    sum = engine.Add(sum, engine.Slice(by_holder[h], cell, 0, {1, 1}));
  return mpc::WithBound(sum, static_cast<double>(task.max_rows()));
}

SharedBits CellBits(Engine& engine, const Task& task, const std::vector<Shared>& by_holder,
                    size_t first, const std::vector<size_t>& sizes, uint64_t min_cell,
                    bool none_passes) {
  const size_t cells = std::accumulate(sizes.begin(), sizes.end(), size_t{0});
  mpc::CellTables tables;
  tables.sizes = sizes;
  tables.max_rows = task.max_rows();
  for (const Shared& counts : by_holder)
    tables.by_holder.push_back(engine.Slice(counts, first, 0, {cells, 1}));
  return mpc::NoSmallCells(engine, tables, min_cell, none_passes);
}

}  // namespace

uint64_t NumChecks(const Task& task) {
  return task.table_sizes.size() + (task.classes > 1 ? 1 : 0) + 1;
}

uint64_t LeastRows(const Task& task, uint64_t min_rows) {
  const uint64_t p = task.num_columns();
  return std::max({min_rows, p + kFreedom, kRowsPerColumn * p});
}

std::optional<CountAnswers> CheckCounts(Engine& engine, const Task& task,
                                        const std::vector<Shared>& by_holder, uint64_t min_rows,
                                        uint64_t min_cell) {
  std::vector<SharedBits> bits;
  if (!task.table_sizes.empty())
    bits.push_back(CellBits(engine, task, by_holder, 0, task.table_sizes, min_cell, true));
  if (task.classes > 1) {
    bits.push_back(
        CellBits(engine, task, by_holder, TableCells(task), {task.classes}, min_cell, false));
  }
  const auto most = static_cast<double>(task.max_rows());
  const auto least = static_cast<double>(std::min(LeastRows(task, min_rows), task.max_rows() + 1));
  const std::vector<Shared> more = {
      mpc::PlusConstant(engine, RowsOf(engine, task, by_holder), -least, most + 1)};
  bits.push_back(engine.Not(mpc::IsNegative(engine, more).front()));
  const std::vector<mpc::BitMatrix> opened =
      engine.RevealBits(kDisclosureRelease, bits, mpc::kEverybody);
  if (!engine.self()) return std::nullopt;
  CountAnswers answers;
  size_t next = 0;
  if (!task.table_sizes.empty()) {
    for (size_t t = 0; t < task.table_sizes.size(); ++t)
      answers.tables.push_back(mpc::GetBit(opened[0], 0, t));
    ++next;
  }
  if (task.classes > 1) answers.outcome = mpc::GetBit(opened[next++], 0, 0);
  answers.rows = mpc::GetBit(opened[next], 0, 0);
  return answers;
}

Shared RowsOf(Engine& engine, const Task& task, const std::vector<Shared>& by_holder) {
  return CountOfAll(engine, task, by_holder, NumCounts(task) - 1);
}

Shared EventsOf(Engine& engine, const Task& task, const std::vector<Shared>& by_holder) {
  if (task.classes == 1) return {};
  return CountOfAll(engine, task, by_holder, TableCells(task) + 1);
}

}  // namespace partita::methods::glm
