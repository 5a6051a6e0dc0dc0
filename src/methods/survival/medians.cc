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

// Events in each cell and its neighbours.
Shared Windows(Engine& engine, const Shared& events_until) {
  const size_t cells = events_until.shape.rows, neighbours = Neighbours(cells);
  std::vector<size_t> last, before;
  for (size_t c = 0; c < cells; ++c) {
    last.push_back(std::min(c + neighbours, cells - 1));
    before.push_back(c - std::min(c, neighbours));
  }
  return WithBound(engine.Subtract(engine.SelectRows(events_until, last),
                                   engine.SelectRows(Before(engine, events_until), before)),
                   events_until.bound);
}

Shared ColumnsOf(Engine& engine, const std::vector<Shared>& matrices, size_t column) {
  std::vector<Shared> columns;
  for (const Shared& matrix : matrices)
    columns.push_back(engine.Slice(matrix, 0, column, {matrix.shape.rows, 1}));
  return engine.Concatenate(columns, false);
}

}  // namespace

size_t Neighbours(size_t cells) { return cells / kWindowsInRange / 2; }

Shared MedianCells(Engine& engine, const Task& task, const RiskSets& sets,
                   const CurveValues& values, uint64_t min_cell) {
  const size_t groups = task.spec.num_groups(), cells = task.spec.grid.cells;
  const std::vector<Shared> first = MarkFirst(engine, Crossed(engine, task, sets, values));
  std::vector<Shared> windows;
  for (const Shared& events : sets.events_until) windows.push_back(Windows(engine, events));

  std::vector<Shared> in_window(groups);  // kMediansOfGroup x holders
  mpc::ProductRound products(engine);
  for (size_t g = 0; g < groups; ++g) {
    products.Add(mpc::Product::Kind::kGram, ColumnsOf(engine, first, g),
                 ColumnsOf(engine, windows, g), task.max_rows(), in_window[g]);
  }
  products.Run();
  mpc::CellTables tables;
  tables.max_rows = run::MostRows(task.holders);
  tables.sizes.assign(groups * kMediansOfGroup, 1);
  for (size_t h = 0; h < task.holders.size(); ++h)
    tables.by_holder.push_back(
        mpc::Reshape(engine.Transpose(ColumnsOf(engine, in_window, h)), {tables.sizes.size(), 1}));
  const std::vector<SharedBits> enough = {mpc::NoSmallCells(engine, tables, min_cell, false)};

  // Cells are counted from 1.
  mpc::IntMatrix places{{1, cells}, {}};
  for (size_t c = 1; c <= cells; ++c) places.values.push_back(static_cast<Int128>(c));
  std::vector<Shared> of_medians;
  for (const Shared& marks : first)
    of_medians.push_back(engine.MultiplyPublic(mpc::PublicMatrix{places, 0}, marks));
  const auto most_place = static_cast<double>(cells);
  const Shared at = WithBound(mpc::Reshape(engine.Transpose(engine.Concatenate(of_medians, true)),
                                           {tables.sizes.size(), 1}),
                              most_place);
  Shared allowed;
  mpc::ProductRound allow(engine);
  allow.Add(engine.ToRing(enough).front(), at, most_place, allowed);
  allow.Run();
  return mpc::Reshape(allowed, {groups, kMediansOfGroup});
}

}  // namespace partita::methods::survival
