#include "mpc/functions/extremes.h"

#include <algorithm>

#include "base/error.h"
#include "mpc/compare.h"

namespace partita::mpc {
namespace {

// One round of the tournament; true if there was anything to compare.
bool HalveColumns(Engine& engine, std::vector<Shared>& all, bool largest) {
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
    selections.push_back({less[i], largest ? right : left, largest ? left : right});
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

std::vector<Shared> Extremes(Engine& engine, std::span<const Shared> values, bool largest) {
  for (const Shared& value : values) {
    if (value.shape.cols > 0) continue;
    throw Error(ErrorCode::kUsage, "a row without entries has no largest or smallest one",
                "correct the method's protocol code");
  }
  std::vector<Shared> all(values.begin(), values.end());
  while (HalveColumns(engine, all, largest)) {
  }
  return all;
}

}  // namespace

std::vector<Shared> RowMax(Engine& engine, std::span<const Shared> values) {
  return Extremes(engine, values, true);
}

std::vector<Shared> RowMin(Engine& engine, std::span<const Shared> values) {
  return Extremes(engine, values, false);
}

}  // namespace partita::mpc
