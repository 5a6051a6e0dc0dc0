#include "mpc/functions/extremes.h"

#include <algorithm>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"

namespace partita::mpc {
namespace {

// One round of the tournament; true if there was anything to compare.
bool HalveColumns(Engine& engine, std::vector<Shared>& all) {
  std::vector<Comparison> comparisons;
  for (const Shared& value : all) {
    const size_t half = value.shape.cols / 2;
    if (half == 0) continue;
    const Shape shape = {value.shape.rows, half};
    comparisons.push_back({engine.Slice(value, 0, 0, shape), engine.Slice(value, 0, half, shape)});
  }
  if (comparisons.empty()) return false;
  const std::vector<SharedBits> less = LessThan(engine, comparisons);
  std::vector<Selection> selections;
  for (size_t i = 0; i < less.size(); ++i) {
    const auto& [left, right] = comparisons[i];
    selections.push_back({less[i], right, left});
  }
  const std::vector<Shared> winners = Select(engine, selections);
  auto next = winners.begin();
  for (Shared& value : all) {
    const auto [rows, cols] = value.shape;
    if (cols == 1) continue;
    if (cols % 2 == 0) {
      value = *next++;
      continue;
    }
    const Shared parts[] = {*next++, engine.Slice(value, 0, cols - 1, {rows, 1})};
    value = engine.Concatenate(parts, false);
  }
  return true;
}

void CheckColumns(std::span<const Shared> values) {
  for (const Shared& value : values) {
    if (value.shape.cols > 0) continue;
    Misuse("a row without entries has no largest one");
  }
}

// The entries of even or of odd columns; the last one of an odd number of columns is in neither.
Shared EveryOther(Engine& engine, const Shared& value, size_t first) {
  const size_t pairs = value.shape.cols / 2;
  const Shared even = engine.Slice(value, 0, 0, {value.shape.rows, 2 * pairs});
  const Shared as_pairs = Reshape(even, {value.shape.rows * pairs, 2});
  return Reshape(engine.Slice(as_pairs, 0, first, {as_pairs.shape.rows, 1}),
                 {value.shape.rows, pairs});
}

Shared WithLastColumn(Engine& engine, const Shared& winners, const Shared& before) {
  if (before.shape.cols % 2 == 0) return winners;
  const Shared parts[] = {winners,
                          engine.Slice(before, 0, before.shape.cols - 1, {before.shape.rows, 1})};
  return engine.Concatenate(parts, false);
}

// One round of the tournament between neighbours, as above.
bool HalveWithColumns(Engine& engine, std::vector<Extreme>& all) {
  std::vector<Comparison> comparisons;
  std::vector<Extreme*> playing;
  for (Extreme& extreme : all) {
    if (extreme.value.shape.cols == 1) continue;
    playing.push_back(&extreme);
    comparisons.push_back(
        {EveryOther(engine, extreme.value, 0), EveryOther(engine, extreme.value, 1)});
  }
  if (playing.empty()) return false;
  const std::vector<Shared> right_wins = engine.ToRing(LessThan(engine, comparisons));
  std::vector<Extreme> changes(playing.size());
  ProductRound products(engine);
  for (size_t i = 0; i < playing.size(); ++i) {
    const Shared& columns = playing[i]->column;
    products.Add(right_wins[i], engine.Subtract(comparisons[i].right, comparisons[i].left),
                 2 * comparisons[i].left.bound, changes[i].value);
    products.Add(right_wins[i],
                 engine.Subtract(EveryOther(engine, columns, 1), EveryOther(engine, columns, 0)),
                 columns.bound, changes[i].column);
  }
  products.Run();
  for (size_t i = 0; i < playing.size(); ++i) {
    Extreme& extreme = *playing[i];
    const Extreme before = extreme;
    const Shared value = engine.Add(comparisons[i].left, changes[i].value);
    const Shared column = engine.Add(EveryOther(engine, before.column, 0), changes[i].column);
    extreme.value = WithLastColumn(engine, WithBound(value, before.value.bound), before.value);
    extreme.column = WithLastColumn(engine, WithBound(column, before.column.bound), before.column);
  }
  return true;
}

}  // namespace

std::vector<Extreme> RowArgMax(Engine& engine, std::span<const Shared> values) {
  CheckColumns(values);
  std::vector<Extreme> all;
  for (const Shared& value : values) {
    IntMatrix columns{value.shape, std::vector<Int128>(value.shape.size())};
    for (size_t i = 0; i < columns.values.size(); ++i) {
      columns.values[i] = static_cast<Int128>(i % value.shape.cols);
    }
    all.push_back({value, WithBound(engine.Public({std::move(columns), 0}),
                                    static_cast<double>(value.shape.cols - 1))});
  }
  while (HalveWithColumns(engine, all)) {
  }
  return all;
}

std::vector<Shared> RowMax(Engine& engine, std::span<const Shared> values) {
  CheckColumns(values);
  std::vector<Shared> all(values.begin(), values.end());
  while (HalveColumns(engine, all)) {
  }
  return all;
}

}  // namespace partita::mpc
