#include "methods/describe/quantiles.h"

#include <algorithm>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/order.h"
#include "mpc/functions/small_cells.h"

namespace partita::methods::describe {
namespace {

using mpc::Engine;
using mpc::Shape;
using mpc::Shared;
using mpc::WithBound;

constexpr double kThousand = 1000;

Shared Filled(Engine& engine, Shape shape, Int128 value) {
  return engine.Public({{shape, std::vector<Int128>(shape.size(), value)}, 0});
}

// Of one number, with what is cumulated: cells x arms.
struct Cumulated {
  std::vector<Shared> by_holder;
  Shared all;
};

Cumulated Cumulate(Engine& engine, const NumberHistograms& number, double most) {
  Cumulated sums;
  for (const Shared& own : number.by_holder)
    sums.by_holder.push_back(WithBound(mpc::CumulativeSums(engine, own), most));
  sums.all = sums.by_holder.front();
  for (size_t h = 1; h < sums.by_holder.size(); ++h)
    sums.all = engine.Add(sums.all, sums.by_holder[h]);
  sums.all.bound = most;
  return sums;
}

// Less than 0 where fewer than q n values lie in this cell and below.
Shared BelowQuantile(Engine& engine, const Shared& cumulated, uint32_t quantile, double most) {
  const size_t cells = cumulated.shape.rows;
  const Shared all = engine.SelectRows(cumulated, std::vector<size_t>(cells, cells - 1));
  Shared difference = engine.Subtract(engine.Scale(cumulated, static_cast<Int128>(kThousand)),
                                      engine.Scale(all, static_cast<Int128>(quantile)));
  difference.bound = kThousand * most;
  return difference;
}

// 1 at the first cell that is not below, else 0.
Shared MarkFirst(Engine& engine, const Shared& below) {
  const auto [cells, arms] = below.shape;
  const std::vector<Shared> shifted = {Filled(engine, {1, arms}, 1),
                                       engine.Slice(below, 0, 0, {cells - 1, arms})};
  return WithBound(engine.Subtract(engine.Concatenate(shifted, true), below), 1);
}

// Values in each cell and its neighbours.
Shared Windows(Engine& engine, const Shared& cumulated, size_t neighbours, double most) {
  const auto [cells, arms] = cumulated.shape;
  const std::vector<Shared> parts = {Filled(engine, {1, arms}, 0), cumulated};
  const Shared before = engine.Concatenate(parts, true);  // row c: the values below cell c
  std::vector<size_t> first, last;
  for (size_t c = 0; c < cells; ++c) {
    first.push_back(c - std::min(c, neighbours));
    last.push_back(std::min(c + neighbours + 1, cells));
  }
  return WithBound(
      engine.Subtract(engine.SelectRows(before, last), engine.SelectRows(before, first)), most);
}

// The same column of several matrices, side by side.
Shared ColumnOf(Engine& engine, const std::vector<Shared>& matrices, size_t column) {
  std::vector<Shared> columns;
  for (const Shared& matrix : matrices)
    columns.push_back(engine.Slice(matrix, 0, column, {matrix.shape.rows, 1}));
  return engine.Concatenate(columns, false);
}

Shared Column(Engine& engine, const std::vector<Shared>& parts) {
  return engine.Concatenate(parts, true);
}

}  // namespace

Shared QuantileCells(Engine& engine, const std::vector<NumberHistograms>& numbers,
                     const QuantileTask& task) {
  const double most = static_cast<double>(task.max_rows);
  const size_t quantiles = task.quantiles.size(), holders = numbers.front().by_holder.size();
  const size_t arms = numbers.front().by_holder.front().shape.cols;

  std::vector<Cumulated> cumulated;
  std::vector<Shared> differences;
  for (const NumberHistograms& number : numbers) {
    cumulated.push_back(Cumulate(engine, number, most));
    for (const uint32_t quantile : task.quantiles)
      differences.push_back(BelowQuantile(engine, cumulated.back().all, quantile, most));
  }
  const std::vector<Shared> below = engine.ToRing(mpc::IsNegative(engine, differences));

  std::vector<Shared> places;                            // by number, arm, quantile
  std::vector<Shared> in_window(numbers.size() * arms);  // quantiles x holders
  double largest = 1;
  mpc::ProductRound windows(engine);
  for (size_t m = 0; m < numbers.size(); ++m) {
    std::vector<Shared> marks, cells, own;
    for (size_t q = 0; q < quantiles; ++q) {
      const Shared& bits = below[m * quantiles + q];
      marks.push_back(MarkFirst(engine, bits));
      const auto count = static_cast<double>(bits.shape.rows);
      cells.push_back(mpc::PlusConstant(engine, engine.SumRows(bits), 1, count + 1));
      largest = std::max(largest, count + 1);
    }
    for (const Shared& holder : cumulated[m].by_holder)
      own.push_back(Windows(engine, holder, numbers[m].neighbours, most));
    for (size_t a = 0; a < arms; ++a) {
      windows.Add(mpc::Product::Kind::kGram, ColumnOf(engine, marks, a), ColumnOf(engine, own, a),
                  most, in_window[m * arms + a]);
      places.push_back(engine.Transpose(ColumnOf(engine, cells, a)));
    }
  }
  windows.Run();

  mpc::CellTables tables;
  tables.max_rows = task.max_rows;
  for (size_t h = 0; h < holders; ++h) {
    std::vector<Shared> parts;
    for (const Shared& window : in_window)
      parts.push_back(engine.Slice(window, 0, h, {quantiles, 1}));
    tables.by_holder.push_back(Column(engine, parts));
  }
  tables.sizes.assign(numbers.size() * arms * quantiles, 1);
  const std::vector<mpc::SharedBits> enough = {
      mpc::NoSmallCells(engine, tables, task.min_cell, true)};
  const Shared passes = engine.ToRing(enough).front();

  Shared allowed;
  mpc::ProductRound allow(engine);
  allow.Add(passes, WithBound(Column(engine, places), largest), largest, allowed);
  allow.Run();
  return allowed;
}

}  // namespace partita::methods::describe
