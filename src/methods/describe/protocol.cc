#include "methods/describe/protocol.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "methods/describe/means.h"
#include "methods/describe/named_rows.h"
#include "methods/describe/quantiles.h"
#include "methods/describe/ranks.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/small_cells.h"
#include "mpc/together.h"

namespace partita::methods::describe {
namespace {

using mpc::Engine;
using mpc::PrivateMatrix;
using mpc::Shape;
using mpc::Shared;
using mpc::WithBound;

// With a column for all groups together, where there are groups.
Shared WithAll(Engine& engine, const Layout& layout, const Shared& by_group) {
  if (!layout.grouped) return by_group;
  const std::vector<Shared> columns = {by_group, mpc::SumOfRows(engine, by_group, by_group.bound)};
  return engine.Concatenate(columns, false);
}

Shared Total(Engine& engine, const std::vector<Shared>& by_holder, double most) {
  Shared total = by_holder.front();
  for (size_t h = 1; h < by_holder.size(); ++h) total = engine.Add(total, by_holder[h]);
  return WithBound(total, most);
}

template <typename Get>
std::vector<Shared> OfHolders(const SharedTable& table, Get get) {
  std::vector<Shared> list;
  for (const SharedTable::Own& own : table.by_holder) list.push_back(get(own));
  return list;
}

// variables x 1 each, 0 or 1.
struct Passes {
  Shared by_group;  // empty without groups
  Shared all;
};

Shared Entries(const Shared& matrix) { return mpc::Reshape(matrix, {matrix.shape.size(), 1}); }

// The counts of one holder that are compared, a variable after the other.
Shared ComparedCells(Engine& engine, const Task& task, const Layout& layout,
                     const SharedTable::Own& own) {
  const auto with_left_out = [&](const Shared& counts) {
    if (!task.compares_left_out()) return Entries(counts);
    const std::vector<Shared> columns = {counts, own.left_out};
    return Entries(engine.Concatenate(columns, false));
  };
  if (!layout.grouped) return with_left_out(own.counts);
  const std::vector<Shared> parts = {
      with_left_out(own.counts),
      with_left_out(mpc::SumOfRows(engine, own.counts, own.counts.bound))};
  return engine.Concatenate(parts, true);
}

Passes CheckCells(Engine& engine, const Task& task, const Layout& layout, const SharedTable& table,
                  uint64_t min_cell) {
  mpc::CellTables cells;
  cells.max_rows = task.max_rows();
  for (const SharedTable::Own& own : table.by_holder)
    cells.by_holder.push_back(ComparedCells(engine, task, layout, own));
  const size_t left_out = task.compares_left_out() ? 1 : 0;
  if (layout.grouped) {
    for (const size_t rows : layout.rows_of)
      cells.sizes.push_back(rows * (layout.groups + left_out));
  }
  for (const size_t rows : layout.rows_of) cells.sizes.push_back(rows * (1 + left_out));

  mpc::SharedBits large;
  std::optional<mpc::SharedBits> unnamed;
  std::vector<mpc::Task> tasks = {
      [&](Engine& e) { large = mpc::NoSmallCells(e, cells, min_cell, true); }};
  if (task.named) {
    const auto total = [&](auto get) {
      return Total(engine, OfHolders(table, get), static_cast<double>(cells.max_rows));
    };
    const Shared counts = total([](const SharedTable::Own& own) { return own.counts; });
    const Shared out = total([](const SharedTable::Own& own) { return own.left_out; });
    tasks.emplace_back(
        [&, counts, out](Engine& e) { unnamed = NobodyNamed(e, task, layout, counts, out); });
  }
  mpc::Together(engine, tasks);
  std::vector<mpc::SharedBits> bits = {large};
  if (unnamed) {
    const std::vector<mpc::BitProduct> both = {{large, *unnamed}};
    bits = engine.And(both);
  }
  const Shared passes = engine.ToRing(bits).front();
  if (!layout.grouped) return {{}, passes};
  const Shape variables = {layout.rows_of.size(), 1};
  return {engine.Slice(passes, 0, 0, variables),
          engine.Slice(passes, variables.rows, 0, variables)};
}

// variables x arms. Where the groups pass so do all rows together, whose cells are sums of theirs.
struct Masks {
  Shared table;      // all rows together only where the groups are withheld
  Shared quantiles;  // all rows together whether they are or not: their quantiles do not follow
};

Masks MasksOf(Engine& engine, const Layout& layout, const Passes& passes) {
  if (!layout.grouped) return {passes.all, passes.all};
  std::vector<Shared> columns(layout.groups, passes.by_group);
  columns.push_back(WithBound(engine.Subtract(passes.all, passes.by_group), 1));
  Masks masks;
  masks.table = engine.Concatenate(columns, false);
  columns.back() = passes.all;
  masks.quantiles = engine.Concatenate(columns, false);
  return masks;
}

GridMeans MeansOf(Engine& engine, const Task& task, const Layout& layout, const SharedTable& table,
                  const Shared& counts) {
  const auto most = static_cast<double>(task.max_rows());
  std::vector<size_t> present;
  for (const size_t v : layout.numbers) present.push_back(layout.first_row[v]);
  const auto sum = [&](auto get) {
    return Entries(WithAll(engine, layout, Total(engine, OfHolders(table, get), most)));
  };
  const Sums sums = {Entries(engine.SelectRows(counts, present)),
                     sum([](const SharedTable::Own& own) { return own.sums; }),
                     sum([](const SharedTable::Own& own) { return own.squares; })};
  return MeansOnGrid(engine, sums, most, task.grid_bits);
}

Shared QuantilesOf(Engine& engine, const Task& task, const Layout& layout, const SharedTable& table,
                   uint64_t min_cell) {
  std::vector<NumberHistograms> numbers;
  for (size_t m = 0; m < layout.numbers.size(); ++m) {
    NumberHistograms& number = numbers.emplace_back();
    number.neighbours =
        CellsOf(task.spec.variables[layout.numbers[m]].schema, task.spec.most_cells).neighbours;
    for (const SharedTable::Own& own : table.by_holder)
      number.by_holder.push_back(WithAll(engine, layout, own.histograms[m]));
  }
  return QuantileCells(engine, numbers, {task.spec.quantiles, task.max_rows(), min_cell});
}

Shared RanksOf(Engine& engine, const Task& task, const Layout& layout, const SharedTable& table) {
  const auto most = static_cast<double>(task.max_rows());
  std::vector<Shared> histograms;
  for (size_t m = 0; m < layout.numbers.size(); ++m) {
    const auto get = [m](const SharedTable::Own& own) { return own.histograms[m]; };
    histograms.push_back(Total(engine, OfHolders(table, get), most));
  }
  return RankRoots(engine, histograms, most, task.grid_bits);
}

StrataOnGrid StrataOfHolders(Engine& engine, const Task& task, const SharedTable& table) {
  const auto most = static_cast<double>(task.max_rows());
  const Shared terms = Total(
      engine, OfHolders(table, [](const SharedTable::Own& own) { return own.stratum; }), most);
  return StrataOf(engine, terms, most, task.grid_bits);
}

// All that can open, before any check has withheld it.
struct Unmasked {
  Shared counts;  // rows of the layout x arms
  GridMeans means;
  Shared quantiles, ranks;
  StrataOnGrid strata;
};

// Beside it the checks.
Unmasked MakeAll(Engine& engine, const Task& task, const Layout& layout, const SharedTable& table,
                 uint64_t min_cell, Passes& passes) {
  Unmasked all;
  const auto most = static_cast<double>(task.max_rows());
  all.counts = WithAll(
      engine, layout,
      Total(engine, OfHolders(table, [](const SharedTable::Own& own) { return own.counts; }),
            most));
  std::vector<mpc::Task> tasks = {
      [&](Engine& e) { passes = CheckCells(e, task, layout, table, min_cell); }};
  if (!layout.numbers.empty()) {
    tasks.emplace_back([&](Engine& e) { all.means = MeansOf(e, task, layout, table, all.counts); });
    if (!task.spec.quantiles.empty()) {
      tasks.emplace_back(
          [&](Engine& e) { all.quantiles = QuantilesOf(e, task, layout, table, min_cell); });
    }
    if (task.spec.compared.ranks)
      tasks.emplace_back([&](Engine& e) { all.ranks = RanksOf(e, task, layout, table); });
  }
  if (HasStrata(task.spec))
    tasks.emplace_back([&](Engine& e) { all.strata = StrataOfHolders(e, task, table); });
  mpc::Together(engine, tasks);
  return all;
}

// Numbers x arms, in a column.
Shared QuantileMask(Engine& engine, const Task& task, const Layout& layout, const GridMeans& means,
                    const Masks& masks) {
  Shared mask = Entries(engine.SelectRows(masks.quantiles, layout.numbers));
  if (!task.named) return mask;
  const std::vector<Shared> reached = {means.reached};
  const std::vector<mpc::SharedBits> varies = {engine.Not(mpc::IsZero(engine, reached).front())};
  Shared allowed;
  mpc::ProductRound product(engine);
  product.Add(mask, engine.ToRing(varies).front(), 1, allowed);
  product.Run();
  return allowed;
}

// What opens, in the order of the opening: everything times the bit of its check.
std::vector<Shared> Masked(Engine& engine, const Task& task, const Layout& layout,
                           const Unmasked& all, const Masks& masks) {
  std::vector<Shared> values = {all.counts};
  std::vector<Shared> bits = {engine.SelectRows(masks.table, layout.variable_of)};
  const auto add = [&](const Shared& value, const Shared& bit) {
    values.push_back(value);
    bits.push_back(bit);
  };
  const size_t numbers = layout.numbers.size();
  if (numbers > 0) {
    const Shared of_table = engine.SelectRows(masks.table, layout.numbers);
    const Shared of_means = Entries(of_table);
    for (const Shared& value : {all.means.reached, all.means.means, all.means.deviations})
      add(value, of_means);
    if (!task.spec.quantiles.empty()) {
      std::vector<size_t> entry;
      for (size_t i = 0; i < all.quantiles.shape.rows; ++i)
        entry.push_back(i / task.spec.quantiles.size());
      const Shared of_quantiles = QuantileMask(engine, task, layout, all.means, masks);
      add(all.quantiles, engine.SelectRows(of_quantiles, entry));
    }
    if (task.spec.compared.ranks) add(all.ranks, engine.Slice(of_table, 0, 0, {numbers, 1}));
  }
  if (HasStrata(task.spec)) {
    const std::vector<size_t> variables = TwoValued(task.spec);
    const Shared by_group =
        engine.Slice(engine.SelectRows(masks.table, variables), 0, 0, {variables.size(), 1});
    for (const Shared& value : {all.strata.reached, all.strata.log_ratios, all.strata.errors})
      add(value, by_group);
    const std::vector<Shared> twice = {by_group, by_group};
    add(all.strata.roots, engine.Concatenate(twice, true));
  }
  std::vector<Shared> opened(values.size());
  mpc::ProductRound round(engine);
  for (size_t i = 0; i < values.size(); ++i)
    round.Add(values[i], bits[i], values[i].bound, opened[i]);
  round.Run();
  return opened;
}

// values: as StrataOnGrid has them.
std::vector<OpenedStrata> ReadStrata(const Task& task, const mpc::GridRange& range,
                                     std::span<const mpc::IntMatrix> values) {
  const std::vector<double> steps = mpc::GridSteps(range, values[0]);
  const std::vector<double> ratios = mpc::InGridSteps(values[1], steps),
                            errors = mpc::InGridSteps(values[2], steps);
  const auto total = [&](size_t i) {
    return std::ldexp(mpc::DecodeFixed(values[3].values[i], mpc::kGuardBits), -task.grid_bits);
  };
  std::vector<OpenedStrata> strata;
  for (size_t i = 0; i < steps.size(); ++i)
    strata.push_back({ratios[i], errors[i], total(i), total(steps.size() + i)});
  return strata;
}

std::vector<uint64_t> Whole(const mpc::IntMatrix& numbers) {
  std::vector<uint64_t> whole;
  for (const Int128 value : numbers.values) whole.push_back(static_cast<uint64_t>(value));
  return whole;
}

}  // namespace

uint64_t NumOpened(const Task& task) {
  const Layout layout(task.spec);
  return layout.arms *
             (layout.num_rows() + layout.numbers.size() * (3 + task.spec.quantiles.size())) +
         (task.spec.compared.ranks ? layout.numbers.size() : 0) +
         (HasStrata(task.spec) ? 5 * TwoValued(task.spec).size() : 0);
}

std::optional<bool> EnoughRows(Engine& engine, const Task& task, const SharedTable& table,
                               uint64_t min_rows) {
  const auto most = static_cast<double>(task.max_rows());
  const Layout layout(task.spec);
  const Shared counts =
      Total(engine, OfHolders(table, [](const SharedTable::Own& own) { return own.counts; }), most);
  // Every row has one value of the first variable, or lacks it.
  const Shared first = engine.Slice(counts, 0, 0, {layout.rows_of.front(), layout.groups});
  const Shared by_group = WithBound(engine.SumRows(first), most);
  const Shared rows = task.spec.by_site ? by_group : mpc::SumOfRows(engine, by_group, most);
  const auto least = static_cast<double>(std::min(min_rows, task.max_rows() + 1));
  const std::vector<Shared> difference = {mpc::PlusConstant(engine, rows, -least, most + 1)};
  std::vector<mpc::SharedBits> enough = {engine.Not(mpc::IsNegative(engine, difference).front())};
  if (task.spec.by_site) {
    const auto sites = static_cast<double>(layout.groups);
    const Shared reached = mpc::SumOfRows(engine, engine.ToRing(enough).front(), sites);
    const std::vector<Shared> lacking = {mpc::PlusConstant(engine, reached, -sites, sites + 1)};
    enough = {engine.Not(mpc::IsNegative(engine, lacking).front())};
  }
  const std::vector<mpc::BitMatrix> opened =
      engine.RevealBits(kDisclosureRelease, enough, mpc::kEverybody);
  if (!engine.self()) return std::nullopt;
  return mpc::GetBit(opened.front(), 0, 0);
}

namespace {

// No values have no quantile. What all rows together have stands there, or follows from the groups.
void WithholdOfNone(const Layout& layout, size_t quantiles, OpenedTable& table) {
  for (size_t m = 0; m < layout.numbers.size(); ++m) {
    const size_t row = layout.first_row[layout.numbers[m]];
    const auto counts = std::span(table.counts).subspan(row * layout.arms, layout.arms);
    for (size_t a = 0; a < layout.arms; ++a) {
      const bool all = a + 1 == layout.arms;
      const bool none = all ? std::ranges::all_of(counts, [](uint64_t count) { return count == 0; })
                            : counts[a] == 0;
      if (!none) continue;
      std::ranges::fill(
          std::span(table.cells).subspan((m * layout.arms + a) * quantiles, quantiles),
          uint64_t{0});
    }
  }
}

}  // namespace

std::optional<OpenedTable> OpenTable(Engine& engine, const Task& task, const SharedTable& table,
                                     uint64_t min_cell) {
  const Layout layout(task.spec);
  const bool numbers = !layout.numbers.empty(), quantiles = numbers && !task.spec.quantiles.empty();
  const bool ranks = numbers && task.spec.compared.ranks;
  Passes passes;
  const Unmasked all = MakeAll(engine, task, layout, table, min_cell, passes);
  const std::vector<Shared> opened =
      Masked(engine, task, layout, all, MasksOf(engine, layout, passes));
  const size_t first_of_strata = 1 + (numbers ? 3 : 0) + (quantiles ? 1 : 0) + (ranks ? 1 : 0);
  const std::vector<mpc::IntMatrix> values = engine.Reveal(kTableRelease, opened, task.to);
  if (values.front().values.empty()) return std::nullopt;

  OpenedTable result;
  result.counts = Whole(values[0]);
  if (HasStrata(task.spec))
    result.strata = ReadStrata(task, all.strata.range, std::span(values).subspan(first_of_strata));
  if (!numbers) return result;
  result.step = mpc::GridSteps(all.means.range, values[1]);
  result.mean = mpc::InGridSteps(values[2], result.step);
  result.deviation = mpc::InGridSteps(values[3], result.step);
  if (quantiles) {
    result.cells = Whole(values[4]);
    WithholdOfNone(layout, task.spec.quantiles.size(), result);
  }
  if (!ranks) return result;
  for (const Int128 value : values[first_of_strata - 1].values) {
    const double steps = std::ldexp(static_cast<double>(value), -mpc::kGuardBits) - 1;
    result.rank_roots.push_back(value == 0 ? std::nullopt
                                           : std::optional(std::ldexp(steps, -task.grid_bits)));
  }
  return result;
}

}  // namespace partita::methods::describe
