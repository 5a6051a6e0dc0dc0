#include "methods/glm/risk.h"

#include <algorithm>

#include "methods/glm/fit_numbers.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/division.h"
#include "mpc/functions/small_cells.h"
#include "stats/glm/risk.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;
using stats::glm::kRiskBins;

constexpr int kExpectedBits = 30, kAreaBits = 20;
constexpr size_t kNumbersOfArea = 2;

size_t NumGroups(const Spec& spec) { return spec.cuts.size() + 1; }

struct OwnRisk {
  std::vector<Int128> cells, expected, bins;
};

// cells: rows without an event of every group, then with one; bins likewise.
OwnRisk OwnRiskOf(const Task& task, const OwnData& own, const Eigen::VectorXd& estimates) {
  const stats::glm::Rows rows = RowsAt(task.spec, own.rows, estimates, task.units.limits);
  const stats::glm::RiskTable table =
      stats::glm::RiskTableAt(task.spec.law, rows, estimates, task.units.limits, task.spec.cuts);
  OwnRisk made;
  const auto add = [](const Eigen::VectorXd& counts, std::vector<Int128>& to) {
    for (const double count : counts) to.push_back(static_cast<Int128>(count));
  };
  add(table.others, made.cells);
  add(table.events, made.cells);
  add(table.bin_others, made.bins);
  add(table.bin_events, made.bins);
  for (const double expected : table.expected)
    made.expected.push_back(mpc::EncodeFixed(expected, kExpectedBits));
  return made;
}

SharedRisk ShareRisk(Engine& engine, const Task& task, const OwnRisk& own) {
  const size_t groups = NumGroups(task.spec);
  std::vector<mpc::PrivateMatrix> inputs;
  for (const run::RowHolder& holder : task.holders) {
    inputs.push_back(run::SumsOfHolder(engine, holder, {2 * groups, 1}, 0, 1, own.cells));
    inputs.push_back(
        run::SumsOfHolder(engine, holder, {groups, 1}, kExpectedBits, 1, own.expected));
    inputs.push_back(run::SumsOfHolder(engine, holder, {2 * kRiskBins, 1}, 0, 1, own.bins));
  }
  const std::vector<Shared> shared = engine.Input(inputs);
  const auto most = static_cast<double>(task.max_rows());
  const auto sum = [&](size_t kind) {
    Shared all = shared[kind];
    for (size_t h = 1; h < task.holders.size(); ++h) all = engine.Add(all, shared[3 * h + kind]);
    return WithBound(all, most);
  };
  SharedRisk risk;
  for (size_t h = 0; h < task.holders.size(); ++h) risk.cells.push_back(shared[3 * h]);
  risk.expected = sum(1);
  risk.bins = sum(2);
  return risk;
}

// 2 x 1 at kAreaBits: the area and its error.
Shared Area(Engine& engine, const Task& task, const Shared& bins) {
  const auto most = static_cast<double>(task.max_rows());
  const Shared others = engine.Slice(bins, 0, 0, {kRiskBins, 1}),
               events = engine.Slice(bins, kRiskBins, 0, {kRiskBins, 1});
  // Twice the rows without an event below a bin, and those in it.
  std::vector<Shared> pairs;
  Shared below = WithBound(engine.Slice(others, 0, 0, {1, 1}), most), before = below;
  pairs.push_back(below);
  for (size_t k = 1; k < kRiskBins; ++k) {
    const Shared own = engine.Slice(others, k, 0, {1, 1});
    below = WithBound(engine.Add(before, own), most);
    pairs.push_back(WithBound(engine.Add(before, below), 2 * most));
    before = below;
  }
  const Shared ranks = WithBound(engine.Concatenate(pairs, true), 2 * most);
  const Shared all_events = WithBound(engine.SumRows(events), most);
  // What the area and its error are of, and twice the pairs of rows with and without an event: with that
  // many events and others at most half of the square of all rows each.
  const double most_pairs = most * most / 2;
  Shared higher, within, all;
  mpc::ProductRound products(engine);
  products.Add(mpc::Product::Kind::kGram, events, ranks, most_pairs, higher);
  products.Add(mpc::Product::Kind::kGram, events, others, most_pairs, within);
  products.Add(all_events, before, most_pairs / 2, all);
  products.Run();
  const std::vector<Shared> numerators = {higher, within};
  const Shared doubled = WithBound(engine.Scale(all, 2), most_pairs);
  const std::vector<Shared> denominators = {doubled, doubled};
  const std::vector<mpc::Quotient> quotients = {
      {WithBound(engine.Concatenate(numerators, true), most_pairs),
       {WithBound(engine.Concatenate(denominators, true), most_pairs), 1},
       2}};
  return WithBound(mpc::Divide(engine, quotients, kAreaBits).front(), 2);
}

}  // namespace

size_t NumRiskNumbers(const Spec& spec) {
  return spec.cuts.empty() ? 0 : 1 + 3 * NumGroups(spec) + kNumbersOfArea;
}

Shared RiskNumbers(Engine& engine, const Task& task, const OwnData& own,
                   const Eigen::VectorXd& estimates, uint64_t min_cell) {
  const OwnRisk own_risk =
      own.rows.x.cols() == estimates.size() ? OwnRiskOf(task, own, estimates) : OwnRisk{};
  return RiskNumbersFrom(engine, task, ShareRisk(engine, task, own_risk), min_cell);
}

Shared RiskNumbersFrom(Engine& engine, const Task& task, const SharedRisk& risk,
                       uint64_t min_cell) {
  const size_t groups = NumGroups(task.spec);
  const auto most = static_cast<double>(task.max_rows());
  Shared all = risk.cells.front();
  for (size_t h = 1; h < risk.cells.size(); ++h) all = engine.Add(all, risk.cells[h]);
  const mpc::CellTables tables{risk.cells, {2 * groups}, task.max_rows()};
  const std::vector<mpc::SharedBits> checked = {mpc::NoSmallCells(engine, tables, min_cell, true)};
  const Shared passes = WithBound(engine.ToRing(checked).front(), 1);
  const Shared area = Area(engine, task, risk.bins);
  const std::vector<Shared> counts = {
      WithBound(engine.Add(engine.Slice(all, 0, 0, {groups, 1}),
                           engine.Slice(all, groups, 0, {groups, 1})),
                most),
      engine.Slice(all, groups, 0, {groups, 1})};
  Shared shown_counts, shown_expected;
  mpc::ProductRound mask(engine);
  mask.Add(WithBound(engine.Concatenate(counts, true), most),
           engine.SelectRows(passes, std::vector<size_t>(2 * groups, 0)), most, shown_counts);
  mask.Add(risk.expected, engine.SelectRows(passes, std::vector<size_t>(groups, 0)), most,
           shown_expected);
  mask.Run();
  const std::vector<Shared> numbers = {
      mpc::Lift(engine, passes, kTotalBits), mpc::Lift(engine, shown_counts, kTotalBits),
      mpc::Lift(engine, shown_expected, kTotalBits),
      mpc::TimesConstant(engine, mpc::Lift(engine, area, kTotalBits), kTimesArea, 0)};
  return WithBound(engine.Concatenate(numbers, true), std::max(most, 2 * kTimesArea));
}

Risk RiskOf(const Spec& spec, const std::vector<double>& numbers) {
  const size_t groups = NumGroups(spec);
  Risk risk;
  risk.shown = numbers.front() != 0;
  for (size_t g = 0; risk.shown && g < groups; ++g) {
    risk.groups.push_back({g == 0 ? 0 : spec.cuts[g - 1], g + 1 == groups ? 1 : spec.cuts[g],
                           numbers[1 + g], numbers[1 + groups + g], numbers[1 + 2 * groups + g]});
  }
  risk.area = numbers[1 + 3 * groups] / kTimesArea;
  risk.error = numbers[2 + 3 * groups] / kTimesArea;
  return risk;
}

}  // namespace partita::methods::glm
