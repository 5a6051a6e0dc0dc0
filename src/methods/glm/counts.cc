#include "methods/glm/counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "methods/glm/aggregates.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/scoring_step.h"
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

// 1 x 1: whether none is negative.
SharedBits NoneNegative(Engine& engine, const std::vector<Shared>& room) {
  const std::vector<Shared> column = {engine.Concatenate(room, true)};
  const std::vector<SharedBits> small = {mpc::IsNegative(engine, column).front()};
  const Shared failures = engine.SumRows(engine.ToRing(small).front());
  const std::vector<Shared> none = {
      mpc::PlusConstant(engine, failures, -1, static_cast<double>(column.front().shape.rows) + 1)};
  return mpc::IsNegative(engine, none).front();
}

size_t ClustersCell(const Task& task) { return NumCounts(task) - 2; }

// Clusters.
uint64_t MoreThanColumns(const Task& task) { return task.num_columns() + 1; }

// Of the tables, one bit each, and of the outcome, where there are such.
std::vector<SharedBits> CellChecks(Engine& engine, const Task& task,
                                   const std::vector<Shared>& by_holder, uint64_t min_cell) {
  std::vector<SharedBits> bits;
  if (!task.table_sizes.empty())
    bits.push_back(CellBits(engine, task, by_holder, 0, task.table_sizes, min_cell, true));
  if (task.classes > 1) {
    bits.push_back(
        CellBits(engine, task, by_holder, TableCells(task), {task.classes}, min_cell, false));
  }
  return bits;
}

// What a count has beyond `wanted`.
Shared Surplus(Engine& engine, const Task& task, const Shared& count, uint64_t wanted) {
  const auto bound = static_cast<double>(std::min(wanted, task.max_rows() + 1));
  return mpc::PlusConstant(engine, count, -bound, static_cast<double>(task.max_rows()) + 1);
}

SharedBits AtLeast(Engine& engine, const Task& task, const Shared& count, uint64_t wanted) {
  const std::vector<Shared> more = {Surplus(engine, task, count, wanted)};
  return engine.Not(mpc::IsNegative(engine, more).front());
}

// 1 x 1: whether each count is.
SharedBits AllAtLeast(Engine& engine, const Task& task, const std::vector<Shared>& counts,
                      uint64_t wanted) {
  std::vector<Shared> surpluses;
  for (const Shared& count : counts) surpluses.push_back(Surplus(engine, task, count, wanted));
  return NoneNegative(engine, surpluses);
}

}  // namespace

std::vector<Shared> RoomOfWeights(Engine& engine, const Task& task,
                                  const std::vector<Shared>& weights) {
  const size_t holders = weights.size();
  const double most = MostRoomOfWeights(task);
  const auto entry = [&](size_t h, size_t row) { return engine.Slice(weights[h], row, 0, {1, 1}); };
  Shared sum = entry(0, 0);
  for (size_t h = 1; h < holders; ++h) sum = engine.Add(sum, entry(h, 0));
  std::vector<Shared> room;
  for (size_t h = 0; h < holders; ++h) {
    const Shared times = mpc::TimesConstant(engine, entry(h, 1), kLeastTimesLargest, 0);
    const Shared all = engine.Subtract(sum, times);
    room.push_back(mpc::WithBound(all, most));
    for (size_t left_out = 0; left_out < holders; ++left_out) {
      if (left_out == h) continue;
      room.push_back(mpc::WithBound(engine.Subtract(all, entry(left_out, 0)), most));
    }
  }
  return room;
}

double MostRoomOfWeights(const Task& task) {
  return (kLeastTimesLargest + 2) * static_cast<double>(task.max_rows());
}

bool ComparesWeights(const Spec& spec) { return !spec.weights.empty() && !spec.copies(); }

uint64_t NumChecks(const Task& task) {
  if (task.hidden_rows) return 1;
  return task.table_sizes.size() + (task.classes > 1 ? 1 : 0) + (task.spec.clustered() ? 2 : 0) +
         (task.spec.seals_clusters() ? 1 : 0) + (ComparesWeights(task.spec) ? 1 : 0) + 1;
}

uint64_t LeastRows(const Task& task, uint64_t min_rows) {
  const uint64_t p = task.spec.num_coefficients();
  const uint64_t determined = task.spec.aggregates ? RowsDetermined(task) + 1 : 0;
  return std::max({min_rows, p + kFreedom, kRowsPerColumn * p, determined});
}

std::optional<CountAnswers> CheckCounts(Engine& engine, const Task& task,
                                        const std::vector<Shared>& by_holder,
                                        const std::vector<Shared>& weights, uint64_t min_rows,
                                        uint64_t min_cell, const SealedClusters& clusters) {
  std::vector<SharedBits> bits = CellChecks(engine, task, by_holder, min_cell);
  const SharedTotals totals = TotalsFrom(engine, task, by_holder, clusters);
  if (task.spec.clustered()) {
    bits.push_back(task.spec.counts_clusters()
                       ? CellBits(engine, task, by_holder, ClustersCell(task), {1}, min_cell, false)
                       : AllAtLeast(engine, task, clusters.numbers, min_cell));
    bits.push_back(AtLeast(engine, task, totals.clusters, MoreThanColumns(task)));
  }
  if (task.spec.seals_clusters()) bits.push_back(NoneNegative(engine, clusters.room));
  if (ComparesWeights(task.spec)) bits.push_back(NoneNegative(engine, weights));
  bits.push_back(AtLeast(engine, task, totals.rows, LeastRows(task, min_rows)));
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
  if (task.spec.clustered()) {
    answers.clusters = mpc::GetBit(opened[next], 0, 0) && mpc::GetBit(opened[next + 1], 0, 0);
    next += 2;
  }
  if (task.spec.seals_clusters()) answers.largest_cluster = mpc::GetBit(opened[next++], 0, 0);
  if (ComparesWeights(task.spec)) answers.weights = mpc::GetBit(opened[next++], 0, 0);
  answers.rows = mpc::GetBit(opened[next], 0, 0);
  return answers;
}

HiddenAnswers CheckHiddenCounts(Engine& engine, const Task& task,
                                const std::vector<Shared>& by_holder, uint64_t min_rows,
                                uint64_t min_cell) {
  HiddenAnswers answers;
  answers.failures = mpc::WithBound(engine.Public({{{1, 1}, {0}}, 0}), 0);
  const std::vector<SharedBits> cells = CellChecks(engine, task, by_holder, min_cell);
  if (!cells.empty()) {
    for (const Shared& passed : engine.ToRing(cells)) {
      const Shared failed = mpc::CountZeros(engine, passed);
      answers.failures = mpc::WithBound(engine.Add(answers.failures, failed),
                                        answers.failures.bound + failed.bound);
    }
  }
  const std::vector<SharedBits> enough = {
      AtLeast(engine, task, RowsFrom(engine, task, by_holder), LeastRows(task, min_rows))};
  const std::vector<mpc::BitMatrix> opened =
      engine.RevealBits(kDisclosureRelease, enough, mpc::kEverybody);
  if (engine.self()) answers.rows = mpc::GetBit(opened[0], 0, 0);
  return answers;
}

SharedTotals TotalsFrom(Engine& engine, const Task& task, const std::vector<Shared>& by_holder,
                        const SealedClusters& clusters) {
  SharedTotals totals;
  totals.rows = RowsFrom(engine, task, by_holder);
  if (task.spec.law.binary)
    totals.events = CountOfAll(engine, task, by_holder, TableCells(task) + 1);
  if (task.spec.counts_clusters()) {
    totals.clusters = CountOfAll(engine, task, by_holder, ClustersCell(task));
  } else if (task.spec.clustered()) {
    totals.clusters = clusters.numbers.front();
  }
  return totals;
}

Shared RowsFrom(Engine& engine, const Task& task, const std::vector<Shared>& by_holder) {
  return CountOfAll(engine, task, by_holder, NumCounts(task) - 1);
}

uint64_t LeastClusters(const Task& task, uint64_t min_cell) {
  return std::max(MoreThanColumns(task), min_cell);
}

std::string ClustersRule(const Task& task, uint64_t min_cell, const std::string& beside_own) {
  const uint64_t least = LeastClusters(task, min_cell);
  if (beside_own.empty()) return fmt::format("at least {} clusters", least);
  return fmt::format("at least {} clusters, and min_cell = {}{}", least, min_cell, beside_own);
}

std::string LargestClusterRule(const std::string& beside_own) {
  return "no cluster has more than half of the rows" + beside_own;
}

}  // namespace partita::methods::glm
