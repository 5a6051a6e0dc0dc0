#include "methods/mle/moments/pattern_cells.h"

#include <algorithm>

#include "mpc/compare.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::IntMatrix;
using mpc::PrivateMatrix;
using mpc::Shape;
using mpc::Shared;

double MostRows(const PatternCellsTask& task) {
  double rows = 0;
  for (const CellHolder& holder : task.holders) rows += static_cast<double>(holder.max_rows);
  return rows;
}

std::vector<Shared> ShareCounts(Engine& engine, const PatternCellsTask& task,
                                const std::vector<uint64_t>& own) {
  std::vector<PrivateMatrix> inputs;
  for (const CellHolder& holder : task.holders) {
    PrivateMatrix input{
        holder.party, {task.num_cells, 1}, 0, static_cast<double>(holder.max_rows), {}};
    if (engine.self() == holder.party) {
      input.read = [&own](size_t first, size_t num, Int128* out) {
        std::copy_n(own.begin() + static_cast<std::ptrdiff_t>(first), num, out);
      };
    }
    inputs.push_back(std::move(input));
  }
  return engine.Input(inputs);
}

// All cells of all tables, one below the other.
Shared Tables(Engine& engine, const PatternCellsTask& task, const std::vector<Shared>& counts) {
  Shared all = counts.front();
  for (size_t h = 1; h < counts.size(); ++h) all = engine.Add(all, counts[h]);
  std::vector<Shared> tables = {all};
  if (counts.size() > 1) {
    for (const Shared& own : counts) tables.push_back(engine.Subtract(all, own));
  }
  Shared cells = engine.Concatenate(tables, true);
  cells.bound = MostRows(task);
  return cells;
}

// Whole numbers less `subtrahend`, which is at most one more than `most` of them.
Shared Less(Engine& engine, const Shared& numbers, uint64_t subtrahend, double most) {
  const std::vector<Int128> constant(numbers.shape.size(), static_cast<Int128>(subtrahend));
  Shared difference =
      engine.Subtract(numbers, engine.Public({IntMatrix{numbers.shape, constant}, 0}));
  difference.bound = most + 1;
  return difference;
}

}  // namespace

std::optional<bool> PatternCellsPass(Engine& engine, const PatternCellsTask& task,
                                     const std::vector<uint64_t>& own, uint64_t minimum) {
  const double most = MostRows(task);
  const Shared cells = Tables(engine, task, ShareCounts(engine, task, own));
  // More than there can be rows is as unreachable as any larger number.
  const uint64_t reachable = std::min(minimum, static_cast<uint64_t>(most) + 1);
  const std::vector<Shared> differences = {Less(engine, cells, reachable, most),
                                           Less(engine, cells, 1, most)};
  const std::vector<mpc::SharedBits> below = mpc::IsNegative(engine, differences);
  // A cell below 1 is below the minimum as well.
  const std::vector<mpc::SharedBits> fails = {engine.Xor(below[0], below[1])};
  const Shared failures = engine.SumRows(engine.ToRing(fails).front());
  const auto num_cells = static_cast<double>(cells.shape.rows);
  const std::vector<Shared> surplus = {Less(engine, failures, 1, num_cells)};
  const std::vector<mpc::BitMatrix> passes =
      engine.RevealBits(kPatternCellsRelease, mpc::IsNegative(engine, surplus), mpc::kEverybody);
  if (!engine.self()) return std::nullopt;
  return mpc::GetBit(passes.front(), 0, 0);
}

}  // namespace partita::methods::mle
