#include "methods/mixed/counts.h"

#include <algorithm>
#include <numeric>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/small_cells.h"

namespace partita::methods::mixed {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::SharedBits;

constexpr uint64_t kFreedom = 10, kRowsPerColumn = 3;

// Of the outcome, where it is 0 or 1.
size_t NumClasses(const Task& task) { return task.spec.binary() ? ClassesOf(task.spec) : 0; }

size_t TableCells(const Task& task) {
  return std::accumulate(task.table_sizes.begin(), task.table_sizes.end(), size_t{0});
}

// Before groups and rows.
size_t NumCells(const Task& task) { return TableCells(task) + NumClasses(task); }

Shared CountOfAll(Engine& engine, const Task& task, const std::vector<Shared>& by_holder,
                  size_t cell) {
  Shared sum = engine.Slice(by_holder.front(), cell, 0, {1, 1});
  for (size_t h = 1; h < by_holder.size(); ++h)
    sum = engine.Add(sum, engine.Slice(by_holder[h], cell, 0, {1, 1}));
  return mpc::WithBound(sum, static_cast<double>(task.max_rows()));
}

SharedBits NoSmall(Engine& engine, const Task& task, const std::vector<Shared>& by_holder,
                   size_t first, const std::vector<size_t>& sizes, uint64_t least,
                   bool none_passes) {
  mpc::CellTables tables;
  tables.sizes = sizes;
  tables.max_rows = task.max_rows();
  const size_t cells = std::accumulate(sizes.begin(), sizes.end(), size_t{0});
  for (const Shared& counts : by_holder)
    tables.by_holder.push_back(engine.Slice(counts, first, 0, {cells, 1}));
  return mpc::NoSmallCells(engine, tables, least, none_passes);
}

// Of every site by itself: what others know of their own is no part of it.
SharedBits NoSmallSite(Engine& engine, const Task& task, const std::vector<Shared>& by_holder,
                       size_t cell, uint64_t least) {
  std::vector<Shared> rows;
  for (const Shared& counts : by_holder) rows.push_back(engine.Slice(counts, cell, 0, {1, 1}));
  return NoSmall(engine, task, {engine.Concatenate(rows, true)}, 0, {rows.size()}, least, true);
}

}  // namespace

uint64_t NumChecks(const Task& task) {
  return task.table_sizes.size() + 3 + (task.spec.binary() ? 1 : 0) + (task.spec.by_site() ? 1 : 0);
}

uint64_t EffectsOfGroup(const Task& task) { return task.spec.slope ? 2 : 1; }

uint64_t LeastRows(const Task& task, uint64_t min_rows) {
  const uint64_t p = task.num_columns();
  return std::max({min_rows, p + kFreedom, kRowsPerColumn * p});
}

uint64_t LeastGroups(const Task& task, uint64_t min_cell) {
  return task.spec.by_site() ? kFewestSites : std::max(kFewestGroups, min_cell);
}

uint64_t LeastRowsOfSite(uint64_t min_cell) { return std::max(kFewestRowsOfSite, min_cell); }

std::vector<Shared> ShareCounts(Engine& engine, const Task& task, const OwnData& own) {
  std::vector<mpc::PrivateMatrix> inputs;
  for (const run::RowHolder& holder : task.holders) {
    inputs.push_back(run::SumsOfHolder(engine, holder, {NumCells(task) + 2, 1}, 0, 1, own.counts));
  }
  return engine.Input(inputs);
}

std::optional<CountAnswers> CheckCounts(Engine& engine, const Task& task,
                                        const std::vector<Shared>& by_holder, uint64_t min_rows,
                                        uint64_t min_cell) {
  const size_t cells = NumCells(task);
  const SharedTotals totals = TotalsFrom(engine, task, by_holder);
  const auto most = static_cast<double>(task.max_rows());
  const auto at_least = [&](const Shared& count, uint64_t wanted) {
    const auto bound = static_cast<double>(std::min(wanted, task.max_rows() + 1));
    const std::vector<Shared> more = {mpc::PlusConstant(engine, count, -bound, 2 * most + 1)};
    return engine.Not(mpc::IsNegative(engine, more).front());
  };
  std::vector<SharedBits> bits;
  if (TableCells(task) > 0)
    bits.push_back(NoSmall(engine, task, by_holder, 0, task.table_sizes, min_cell, true));
  if (task.spec.binary()) {
    bits.push_back(
        NoSmall(engine, task, by_holder, TableCells(task), {NumClasses(task)}, min_cell, false));
  }
  // Of sites nobody has another's group.
  const uint64_t groups = LeastGroups(task, min_cell);
  bits.push_back(task.spec.by_site() ? at_least(totals.groups, groups)
                                     : NoSmall(engine, task, by_holder, cells, {1}, groups, false));
  bits.push_back(at_least(totals.rows, LeastRows(task, min_rows)));
  const Shared effects = engine.Scale(totals.groups, static_cast<Int128>(EffectsOfGroup(task)));
  bits.push_back(
      at_least(mpc::WithBound(engine.Subtract(totals.rows, effects), most), kRowsInGroups));
  if (task.spec.by_site())
    bits.push_back(NoSmallSite(engine, task, by_holder, cells + 1, LeastRowsOfSite(min_cell)));
  const std::vector<mpc::BitMatrix> opened =
      engine.RevealBits(kDisclosureRelease, bits, mpc::kEverybody);
  if (!engine.self()) return std::nullopt;
  CountAnswers answers;
  for (size_t t = 0; t < task.table_sizes.size(); ++t)
    answers.tables.push_back(mpc::GetBit(opened.front(), 0, t));
  const size_t last = opened.size() - (task.spec.by_site() ? 2 : 1);
  if (task.spec.binary()) answers.outcome = mpc::GetBit(opened[last - 3], 0, 0);
  answers.groups = mpc::GetBit(opened[last - 2], 0, 0);
  answers.rows = mpc::GetBit(opened[last - 1], 0, 0);
  answers.rows_in_groups = mpc::GetBit(opened[last], 0, 0);
  if (task.spec.by_site()) answers.rows_of_sites = mpc::GetBit(opened.back(), 0, 0);
  return answers;
}

SharedTotals TotalsFrom(Engine& engine, const Task& task, const std::vector<Shared>& by_holder) {
  const size_t cells = NumCells(task);
  return {CountOfAll(engine, task, by_holder, cells + 1),
          CountOfAll(engine, task, by_holder, cells)};
}

}  // namespace partita::methods::mixed
