#include "mpc/functions/release_grid.h"

#include <fmt/format.h>

#include <cmath>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"

namespace partita::mpc {
namespace {

// log2 of the v that grids are for.
constexpr int kLeastVarianceBits = -34, kMostVarianceBits = 10;
constexpr double kLargestVariance = 0x1p38;

// floor(x / 2).
int Half(int x) { return x >= 0 ? x / 2 : -((1 - x) / 2); }

int BitsOfRows(double max_rows) { return static_cast<int>(std::ceil(std::log2(max_rows))); }

// One column for a single value.
Shared Repeated(Engine& engine, const Shared& value, size_t times) {
  if (value.shape.rows == times) return value;
  return engine.SelectRows(value, std::vector<size_t>(times, 0));
}

// [2^exponent <= v / times] for every exponent; times: the rows, or nothing for 1.
std::vector<Comparison> Thresholds(Engine& engine, const Shared& variances,
                                   const std::vector<int>& exponents, const Shared* times,
                                   double max_rows) {
  const size_t k = variances.shape.rows;
  // So many more fraction bits that the least threshold is whole.
  const int bits = std::max(variances.fraction_bits, -exponents.front());
  const Shared lifted = WithBound(Lift(engine, variances, bits), kLargestVariance);
  std::vector<Comparison> comparisons;
  for (const int exponent : exponents) {
    Shared threshold;
    if (times == nullptr) {
      threshold = ConstantLike(engine, variances, std::ldexp(1.0, exponent), bits);
    } else {
      const Shared scaled = engine.Scale(*times, Int128{1} << (bits + exponent));
      threshold = TimesPowerOfTwo(Repeated(engine, scaled, k), -bits);
    }
    threshold.bound = std::ldexp(times == nullptr ? 1.0 : max_rows, exponent);
    comparisons.push_back({lifted, threshold});
  }
  return comparisons;
}

// Of 4^e <= g^2 v times 2^more.
std::vector<int> VarianceExponents(const GridRange& range, int grid_bits, int more) {
  std::vector<int> exponents;
  for (size_t j = 0; j < range.count; ++j)
    exponents.push_back(2 * (range.lowest + static_cast<int>(j) + grid_bits) - more);
  return exponents;
}

GridMarks GridMarksOf(Engine& engine, const GridRange& range, std::span<const Shared> reached) {
  GridMarks marks{range, reached.front(), {}};
  const auto last = static_cast<int>(range.count) - 1;
  for (size_t j = 1; j < reached.size(); ++j) marks.reached = engine.Add(marks.reached, reached[j]);
  marks.reached.bound = static_cast<double>(range.count);
  // 2^last where the first is reached, and with every further one half of it.
  marks.factor = engine.Scale(reached.front(), Int128{1} << last);
  for (size_t j = 1; j < reached.size(); ++j) {
    const Int128 half = Int128{1} << (last - static_cast<int>(j));
    marks.factor = engine.Subtract(marks.factor, engine.Scale(reached[j], half));
  }
  marks.factor.bound = std::ldexp(1.0, last);
  return marks;
}

}  // namespace

GridRange EstimateGrids(int grid_bits, double max_rows) {
  const int lowest = Half(kLeastVarianceBits - BitsOfRows(max_rows)) - grid_bits;
  const int highest = Half(kMostVarianceBits) - grid_bits;
  return {lowest, static_cast<size_t>(highest - lowest + 1)};
}

GridRange DeviationGrids(int grid_bits) {
  const int lowest = Half(kLeastVarianceBits) - grid_bits;
  const int highest = Half(kMostVarianceBits) - grid_bits;
  return {lowest, static_cast<size_t>(highest - lowest + 1)};
}

std::vector<GridMarks> MarkGrids(Engine& engine, const Shared& variances, const ReleaseGrid& grid,
                                 bool deviations) {
  std::vector<GridRange> ranges = {EstimateGrids(grid.bits, grid.max_rows)};
  std::vector<Comparison> comparisons =
      Thresholds(engine, variances, VarianceExponents(ranges.front(), grid.bits, 1), &grid.rows,
                 grid.max_rows);
  if (deviations) {
    ranges.push_back(DeviationGrids(grid.bits));
    for (Comparison& comparison :
         Thresholds(engine, variances, VarianceExponents(ranges.back(), grid.bits, 0), nullptr, 0))
      comparisons.push_back(std::move(comparison));
  }
  std::vector<SharedBits> reached;
  for (const SharedBits& below : LessThan(engine, comparisons))
    reached.push_back(engine.Not(below));
  const std::vector<Shared> marks = engine.ToRing(reached);
  std::vector<GridMarks> all;
  size_t next = 0;
  for (const GridRange& range : ranges) {
    all.push_back(GridMarksOf(engine, range, std::span(marks).subspan(next, range.count)));
    next += range.count;
  }
  return all;
}

GridMarks MarkErrorGrids(Engine& engine, const Shared& half_squared_errors, int grid_bits) {
  const PublicMatrix one = {{{1, 1}, {1}}, 0};
  return MarkGrids(engine, half_squared_errors, {grid_bits, WithBound(engine.Public(one), 1), 1},
                   false)
      .front();
}

std::vector<Shared> RoundToGrids(Engine& engine, std::vector<GridNumbers> on_grids,
                                 const Shared* totals, double total_bound, int bits) {
  std::vector<Shared> values(on_grids.size());
  ProductRound round(engine);
  for (size_t i = 0; i < on_grids.size(); ++i) {
    const GridNumbers& entry = on_grids[i];
    round.Add(entry.numbers, entry.marks.factor, entry.bound * entry.marks.factor.bound, values[i]);
  }
  round.Run();
  for (size_t i = 0; i < on_grids.size(); ++i) {
    const GridRange& range = on_grids[i].marks.range;
    const int highest = range.lowest + static_cast<int>(range.count) - 1;
    values[i] = TimesPowerOfTwo(values[i], -highest);
    values[i].bound = on_grids[i].bound * std::ldexp(1.0, -range.lowest);
  }
  if (totals != nullptr) {
    values.push_back(TimesPowerOfTwo(*totals, bits));
    values.back().bound = std::ldexp(total_bound, bits);
  }
  CutRound cut(engine);
  for (Shared& value : values) cut.Add(value, kGuardBits, value.bound);
  cut.Run();
  for (Shared& value : values) value = PlusConstant(engine, value, 0.5, value.bound + 1);
  const std::vector<Shared> rings = engine.ToRing(LowestBits(engine, values, kGuardBits));
  for (size_t i = 0; i < values.size(); ++i) {
    const Shape shape = values[i].shape;
    for (size_t bit = 0; bit < size_t{kGuardBits}; ++bit) {
      const Shared plane = engine.Slice(rings[i], bit * shape.rows, 0, shape);
      Shared guard = TimesPowerOfTwo(engine.Scale(plane, Int128{1} << bit), -kGuardBits);
      guard.bound = 1;
      values[i] = WithBound(engine.Subtract(values[i], guard), values[i].bound + 1);
    }
  }
  return values;
}

Error NoSuchOpening(std::string_view what) {
  return {
      ErrorCode::kPeerFault, fmt::format("what opened is not what the protocol opens: {}", what),
      "compare versions of Partita at all parties, and run the study again; if it happens again a "
      "party does not follow the protocol"};
}

std::vector<double> GridSteps(const GridRange& range, const IntMatrix& reached) {
  std::vector<double> steps;
  for (const Int128 value : reached.values) {
    if (value < 0 || value > static_cast<Int128>(range.count))
      throw NoSuchOpening("the grid of a number is none of those that there are");
    const auto count = static_cast<int>(value);
    steps.push_back(count == 0 ? 0 : std::ldexp(1.0, range.lowest - 1 + count));
  }
  return steps;
}

std::vector<double> InGridSteps(const IntMatrix& numbers, std::span<const double> steps) {
  std::vector<double> values;
  for (size_t i = 0; i < steps.size(); ++i) {
    const double number = DecodeFixed(numbers.values[i], kGuardBits);
    if (steps[i] == 0 && number != 0) throw NoSuchOpening("a number has no grid");
    values.push_back(number * steps[i]);
  }
  return values;
}

}  // namespace partita::mpc
