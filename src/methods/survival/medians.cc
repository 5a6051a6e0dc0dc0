#include "methods/survival/medians.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/order.h"
#include "mpc/functions/small_cells.h"

namespace partita::methods::survival {
namespace {

using mpc::BitProduct;
using mpc::Engine;
using mpc::Shared;
using mpc::SharedBits;
using mpc::WithBound;

constexpr size_t kWindowsInRange = 16;
constexpr size_t kPartsOfInterval[] = {8, 4, 2, 1};  // each divides the one before it
constexpr int kDistanceBits = 40, kSquareBits = 2 * kDistanceBits;
constexpr double kTolerance = 0x1p-25;

double SquaredQuantile(double confidence) {
  const double z =
      boost::math::quantile(boost::math::complement(boost::math::normal(), (1 - confidence) / 2));
  return z * z;
}

// [value >= least] of whole numbers.
SharedBits AtLeast(Engine& engine, const Shared& value, double least) {
  const std::vector<Shared> less = {mpc::PlusConstant(engine, value, -least, value.bound + least)};
  return engine.Not(mpc::IsNegative(engine, less).front());
}

// Whether the curve, its lower bound and its upper bound are at 1/2 or below: cells x groups each.
std::vector<Shared> Crossed(Engine& engine, const Task& task, const RiskSets& sets,
                            const CurveValues& values) {
  Shared distance = mpc::PlusConstant(engine, values.log_survival, std::log(2.0) - kTolerance,
                                      values.log_survival.bound + 1);
  mpc::CutRound cut(engine);
  cut.Add(distance, kDistanceBits, distance.bound);
  cut.Run();
  Shared square;
  mpc::ProductRound product(engine);
  product.Add(distance, distance, distance.bound * distance.bound, square);
  product.Run();
  const double z2 = SquaredQuantile(task.spec.confidence);
  Shared width =
      mpc::TimesConstant(engine, values.variance, z2, kSquareBits - values.variance.fraction_bits);
  width.bound = z2 * values.variance.bound;
  const std::vector<Shared> differences = {
      distance, WithBound(engine.Subtract(square, width), square.bound + width.bound),
      mpc::PlusConstant(engine, sets.after, -1, sets.after.bound + 1),
      mpc::PlusConstant(engine, sets.at_risk, -1, sets.at_risk.bound + 1)};
  const std::vector<SharedBits> negative = mpc::IsNegative(engine, differences);
  const SharedBits &below = negative[0], &within = negative[1], &none_after = negative[2];
  const SharedBits alive = engine.Not(none_after), at_risk = engine.Not(negative[3]);
  // a or b is a + b - a b, over bits.
  const std::vector<BitProduct> first = {
      {none_after, at_risk}, {below, within}, {below, engine.Not(within)}};
  const std::vector<SharedBits> both = engine.And(first);
  const SharedBits& ended = both[0];
  const SharedBits lower = engine.Xor(engine.Xor(below, within), both[1]);
  const std::vector<BitProduct> second = {{below, ended}, {lower, alive}, {both[2], alive}};
  const std::vector<SharedBits> masked = engine.And(second);
  const std::vector<SharedBits> crossed = {engine.Xor(engine.Xor(below, ended), masked[0]),
                                           masked[1], masked[2]};
  return engine.ToRing(crossed);
}

// 1 in the first row of a column that has a 1, else 0.
std::vector<Shared> MarkFirst(Engine& engine, const std::vector<Shared>& crossed) {
  std::vector<SharedBits> reached;
  for (const Shared& marks : crossed) {
    const auto rows = static_cast<double>(marks.shape.rows);
    reached.push_back(AtLeast(engine, WithBound(mpc::CumulativeSums(engine, marks), rows), 1));
  }
  std::vector<Shared> first;
  for (const Shared& marks : engine.ToRing(reached))
    first.push_back(WithBound(engine.Subtract(marks, Before(engine, marks)), 1));
  return first;
}

// Events that are counted for each cell.
Shared Windows(Engine& engine, const Shared& events_until, const MedianLevel& level) {
  return WithBound(engine.Subtract(engine.SelectRows(events_until, level.last),
                                   engine.SelectRows(Before(engine, events_until), level.first)),
                   events_until.bound);
}

// The cell itself opens, if events enough lie around it.
MedianLevel LevelOfCells(size_t cells) {
  const size_t near = cells / kWindowsInRange / 2;
  MedianLevel level;
  for (size_t c = 0; c < cells; ++c) {
    level.first.push_back(c - std::min(c, near));
    level.last.push_back(std::min(c + near, cells - 1));
    level.place.push_back(c + 1);
  }
  return level;
}

// Report times and the bounds cut the cells into intervals: the first cell of each, and the end.
std::vector<size_t> Intervals(const Spec& spec) {
  std::vector<size_t> ends = {0};
  for (const size_t report : spec.report) ends.push_back(report + 1);
  if (ends.back() < spec.grid.cells) ends.push_back(spec.grid.cells);
  return ends;
}

Shared ColumnsOf(Engine& engine, const std::vector<Shared>& matrices, size_t column) {
  std::vector<Shared> columns;
  for (const Shared& matrix : matrices)
    columns.push_back(engine.Slice(matrix, 0, column, {matrix.shape.rows, 1}));
  return engine.Concatenate(columns, false);
}

// (groups kMediansOfGroup) x 1 from 1 x groups of each median.
Shared ByGroup(Engine& engine, const std::vector<Shared>& of_medians) {
  return mpc::Reshape(engine.Transpose(engine.Concatenate(of_medians, true)),
                      {of_medians.front().shape.cols * of_medians.size(), 1});
}

// For every level whether events enough lie where it counts them: (groups kMediansOfGroup) x 1.
std::vector<Shared> Enough(Engine& engine, const Task& task, const RiskSets& sets,
                           const std::vector<Shared>& first, const std::vector<MedianLevel>& levels,
                           uint64_t min_cell) {
  const size_t groups = task.spec.num_groups(), holders = task.holders.size();
  std::vector<Shared> windows;
  for (const MedianLevel& level : levels)
    for (const Shared& events : sets.events_until)
      windows.push_back(Windows(engine, events, level));
  std::vector<Shared> in_window(groups);  // kMediansOfGroup x (levels holders)
  mpc::ProductRound products(engine);
  for (size_t g = 0; g < groups; ++g) {
    products.Add(mpc::Product::Kind::kGram, ColumnsOf(engine, first, g),
                 ColumnsOf(engine, windows, g), task.max_rows(), in_window[g]);
  }
  products.Run();

  const size_t medians = groups * kMediansOfGroup;
  mpc::CellTables tables;
  tables.max_rows = run::MostRows(task.holders);
  tables.sizes.assign(levels.size() * medians, 1);
  for (size_t h = 0; h < holders; ++h) {
    std::vector<Shared> of_levels;
    for (size_t l = 0; l < levels.size(); ++l) {
      const Shared counts = ColumnsOf(engine, in_window, l * holders + h);
      of_levels.push_back(mpc::Reshape(engine.Transpose(counts), {medians, 1}));
    }
    tables.by_holder.push_back(engine.Concatenate(of_levels, true));
  }
  const std::vector<SharedBits> bits = {mpc::NoSmallCells(engine, tables, min_cell, false)};
  const Shared enough = engine.ToRing(bits).front();
  std::vector<Shared> by_level;
  for (size_t l = 0; l < levels.size(); ++l)
    by_level.push_back(engine.Slice(enough, l * medians, 0, {medians, 1}));
  return by_level;
}

// For every level the place of the cell that is marked.
std::vector<Shared> PlacesAt(Engine& engine, const std::vector<Shared>& first,
                             const std::vector<MedianLevel>& levels, double most) {
  std::vector<Shared> places;
  for (const MedianLevel& level : levels) {
    mpc::IntMatrix row{{1, level.place.size()}, {}};
    for (const uint64_t place : level.place) row.values.push_back(static_cast<Int128>(place));
    std::vector<Shared> of_medians;
    for (const Shared& marks : first)
      of_medians.push_back(engine.MultiplyPublic(mpc::PublicMatrix{row, 0}, marks));
    places.push_back(WithBound(ByGroup(engine, of_medians), most));
  }
  return places;
}

}  // namespace

std::vector<MedianLevel> MedianLevels(const Spec& spec) {
  std::vector<MedianLevel> levels = {LevelOfCells(spec.grid.cells)};
  const std::vector<size_t> ends = Intervals(spec);
  uint64_t place = spec.grid.cells;
  for (const size_t parts : kPartsOfInterval) {
    MedianLevel level;
    for (size_t i = 0; i + 1 < ends.size(); ++i) {
      const size_t cells = ends[i + 1] - ends[i];
      for (size_t part = 0; part < parts; ++part) {
        const size_t first = ends[i] + part * cells / parts;
        const size_t last = ends[i] + (part + 1) * cells / parts;
        if (first == last) continue;
        level.first.insert(level.first.end(), last - first, first);
        level.last.insert(level.last.end(), last - first, last - 1);
        level.place.insert(level.place.end(), last - first, ++place);
      }
    }
    levels.push_back(std::move(level));
  }
  return levels;
}

std::vector<MedianPlace> MedianPlaces(const Spec& spec) {
  std::vector<MedianPlace> places;
  for (const MedianLevel& level : MedianLevels(spec)) {
    const bool cells = places.empty();
    for (size_t c = 0; c < spec.grid.cells; ++c) {
      if (level.place[c] > places.size())
        places.push_back(cells ? MedianPlace{c, c} : MedianPlace{level.first[c], level.last[c]});
    }
  }
  return places;
}

Shared PlacesOfMedians(Engine& engine, const Task& task, const RiskSets& sets,
                       const CurveValues& values, uint64_t min_cell) {
  const std::vector<MedianLevel> levels = MedianLevels(task.spec);
  const std::vector<Shared> first = MarkFirst(engine, Crossed(engine, task, sets, values));
  const std::vector<Shared> enough = Enough(engine, task, sets, first, levels, min_cell);
  const auto most = static_cast<double>(levels.back().place.back());
  const std::vector<Shared> at = PlacesAt(engine, first, levels, most);

  // A part that has events enough lies in parts that have: what every smaller one changes is added.
  std::vector<Shared> changes(levels.size());
  mpc::ProductRound parts(engine);
  for (size_t l = 1; l < levels.size(); ++l) {
    const bool largest = l + 1 == levels.size();
    const Shared change = largest ? at[l] : WithBound(engine.Subtract(at[l], at[l + 1]), 2 * most);
    parts.Add(enough[l], change, change.bound, changes[l]);
  }
  parts.Run();
  Shared in_parts = changes[1];
  for (size_t l = 2; l < levels.size(); ++l) in_parts = engine.Add(in_parts, changes[l]);
  in_parts.bound = most;
  Shared to_cell;
  mpc::ProductRound cell(engine);
  cell.Add(enough[0], WithBound(engine.Subtract(at[0], in_parts), 2 * most), 2 * most, to_cell);
  cell.Run();
  return mpc::Reshape(WithBound(engine.Add(in_parts, to_cell), most),
                      {task.spec.num_groups(), kMediansOfGroup});
}

}  // namespace partita::methods::survival
