#include "mpc/functions/small_cells.h"

#include <algorithm>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"

namespace partita::mpc {
namespace {

// The cells over all holders, and below them those over all but each one.
std::vector<Shared> Coalitions(Engine& engine, const std::vector<Shared>& by_holder) {
  Shared all = by_holder.front();
  for (size_t h = 1; h < by_holder.size(); ++h) all = engine.Add(all, by_holder[h]);
  std::vector<Shared> coalitions = {all};
  if (by_holder.size() > 1) {
    for (const Shared& own : by_holder) coalitions.push_back(engine.Subtract(all, own));
  }
  return coalitions;
}

// Whole numbers less `subtrahend`, which is at most one more than `most` of them.
Shared Less(Engine& engine, const Shared& numbers, uint64_t subtrahend, double most) {
  return PlusConstant(engine, numbers, -static_cast<double>(subtrahend), most + 1);
}

// By table, of failures by coalition and cell.
Shared FailuresByTable(Engine& engine, const Shared& failures, size_t num_cells,
                       const std::vector<size_t>& sizes) {
  Shared by_cell = engine.Slice(failures, 0, 0, {num_cells, 1});
  for (size_t first = num_cells; first < failures.shape.rows; first += num_cells)
    by_cell = engine.Add(by_cell, engine.Slice(failures, first, 0, {num_cells, 1}));
  std::vector<Shared> sums;
  size_t first = 0;
  for (const size_t size : sizes) {
    sums.push_back(engine.SumRows(engine.Slice(by_cell, first, 0, {size, 1})));
    first += size;
  }
  return engine.Concatenate(sums, true);
}

}  // namespace

SharedBits NoSmallCells(Engine& engine, const CellTables& tables, uint64_t minimum,
                        bool none_passes) {
  const double most = static_cast<double>(tables.max_rows);
  const std::vector<Shared> coalitions = Coalitions(engine, tables.by_holder);
  const Shared cells = WithBound(engine.Concatenate(coalitions, true), most);
  // More than there can be rows is as unreachable as any larger number.
  const uint64_t reachable = std::clamp<uint64_t>(minimum, 1, tables.max_rows + 1);
  std::vector<Shared> differences = {Less(engine, cells, reachable, most)};
  if (none_passes) differences.push_back(Less(engine, cells, 1, most));
  const std::vector<SharedBits> below = IsNegative(engine, differences);
  // A cell below 1 is below the minimum as well.
  const std::vector<SharedBits> fails = {none_passes ? engine.Xor(below[0], below[1]) : below[0]};
  const Shared failures = FailuresByTable(engine, engine.ToRing(fails).front(),
                                          tables.by_holder.front().shape.rows, tables.sizes);
  const size_t largest = *std::max_element(tables.sizes.begin(), tables.sizes.end());
  const std::vector<Shared> surplus = {
      Less(engine, failures, 1, static_cast<double>(coalitions.size() * largest))};
  return IsNegative(engine, surplus).front();
}

}  // namespace partita::mpc
