#include "methods/survival/protocol.h"

#include <algorithm>
#include <cmath>

#include "methods/survival/cells.h"
#include "methods/survival/curves.h"
#include "methods/survival/log_rank.h"
#include "methods/survival/medians.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/release_grid.h"
#include "mpc/together.h"

namespace partita::methods::survival {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

std::vector<uint64_t> Whole(const mpc::IntMatrix& numbers, double most) {
  std::vector<uint64_t> whole;
  for (const Int128 value : numbers.values) {
    if (value < 0 || value > static_cast<Int128>(most))
      throw mpc::NoSuchOpening("a number is none that this study can have");
    whole.push_back(static_cast<uint64_t>(value));
  }
  return whole;
}

// Of each group, from one report to the next.
void RequireRowsFit(const OpenedCurves& curves) {
  const size_t groups = curves.rows.size();
  std::vector<uint64_t> before = curves.rows;
  for (size_t entry = 0; entry < curves.events.size(); ++entry) {
    uint64_t& left = before[entry % groups];
    if (curves.events[entry] + curves.remaining[entry] > left)
      throw mpc::NoSuchOpening("more rows have an event or leave than there are");
    left = curves.remaining[entry];
  }
}

void Multiply(std::vector<double>& values, double factor) {
  for (double& value : values) value *= factor;
}

// Bits of the checks, 0 or 1, by what they stand before.
struct Masks {
  Passes passes;
  Shared by_report;       // report x groups: the group passes
  Shared curves;          // and somebody leaves after the report time
  Shared shows_observed;  // 1 x 1: the test passes and so do late events; empty with one group
};

// A curve of which nobody is left says when the last one did.
Shared SomeLeft(Engine& engine, const Shared& remaining) {
  const std::vector<Shared> less = {mpc::PlusConstant(engine, remaining, -1, remaining.bound + 1)};
  const std::vector<mpc::SharedBits> some = {engine.Not(mpc::IsNegative(engine, less).front())};
  return engine.ToRing(some).front();
}

Masks MasksOf(Engine& engine, const Task& task, const RiskSets& sets, const Shared& remaining,
              uint64_t min_cell) {
  Masks masks;
  Shared left;
  const std::vector<mpc::Task> tasks = {
      [&](Engine& e) { masks.passes = CheckCells(e, task, sets, min_cell); },
      [&](Engine& e) { left = SomeLeft(e, remaining); }};
  mpc::Together(engine, tasks);
  const Passes& passes = masks.passes;
  masks.by_report = engine.SelectRows(engine.Transpose(passes.curves),
                                      std::vector<size_t>(remaining.shape.rows, 0));
  mpc::ProductRound both(engine);
  both.Add(left, masks.by_report, 1, masks.curves);
  if (task.spec.num_groups() > 1)
    both.Add(passes.log_rank, passes.late_events, 1, masks.shows_observed);
  both.Run();
  return masks;
}

// All that can open, before any check has withheld it.
struct Unmasked {
  ReportCounts counts;
  GridCurves curves;
  Shared medians;    // groups x kMediansOfGroup
  GridLogRank test;  // with two groups or more
};

// Beside it the checks.
Unmasked MakeAll(Engine& engine, const Task& task, const RiskSets& sets, uint64_t min_cell,
                 Masks& masks) {
  Unmasked all;
  all.counts = CountsAtReports(engine, task, sets);
  std::vector<mpc::Task> tasks = {
      [&](Engine& e) { masks = MasksOf(e, task, sets, all.counts.remaining, min_cell); },
      [&](Engine& e) {
        const CurveValues values = CurvesOf(e, task, sets);
        const std::vector<mpc::Task> of_values = {
            [&](Engine& f) { all.curves = CurvesOnGrid(f, task, values); },
            [&](Engine& f) { all.medians = PlacesOfMedians(f, task, sets, values, min_cell); }};
        mpc::Together(e, of_values);
      }};
  if (task.spec.num_groups() > 1)
    tasks.emplace_back([&](Engine& e) { all.test = LogRankOnGrid(e, task, sets); });
  mpc::Together(engine, tasks);
  return all;
}

// What opens, in the order of the opening: everything times the bit of its check.
std::vector<Shared> Masked(Engine& engine, const Task& task, const Unmasked& all,
                           const Masks& masks) {
  const size_t groups = task.spec.num_groups();
  const Passes& passes = masks.passes;
  std::vector<Shared> values, bits;
  const auto add = [&](const Shared& value, const Shared& bit) {
    values.push_back(value);
    bits.push_back(bit);
  };
  const Shared of_curves = mpc::Reshape(masks.curves, {masks.curves.shape.size(), 1});
  add(mpc::Reshape(all.counts.rows, {groups, 1}), passes.curves);
  add(all.counts.events, masks.by_report);
  add(all.counts.remaining, masks.by_report);
  for (const Shared& value : {all.curves.reached, all.curves.log_survival, all.curves.errors})
    add(value, of_curves);
  add(all.medians, engine.Concatenate(std::vector<Shared>(kMediansOfGroup, passes.curves), false));
  const size_t of_test = values.size();
  if (groups > 1) {
    const auto of_groups = [&](const Shared& bit) {
      return engine.SelectRows(bit, std::vector<size_t>(groups, 0));
    };
    add(all.test.observed, of_groups(masks.shows_observed));
    for (const Shared& value : {all.test.reached, all.test.differences, all.test.errors})
      add(value, of_groups(passes.log_rank));
    add(all.test.chi_square, passes.log_rank);
  }
  std::vector<Shared> masked(values.size());
  mpc::ProductRound round(engine);
  for (size_t i = 0; i < values.size(); ++i)
    round.Add(values[i], bits[i], values[i].bound, masked[i]);
  round.Run();
  std::vector<Shared> opened = {passes.curves};
  opened.insert(opened.end(), masked.begin(), masked.begin() + static_cast<ptrdiff_t>(of_test));
  if (groups > 1) {
    opened.insert(opened.end(), {passes.log_rank, masks.shows_observed});
    opened.insert(opened.end(), masked.begin() + static_cast<ptrdiff_t>(of_test), masked.end());
  }
  return opened;
}

constexpr size_t kOpenedOfCurves = 8;  // before those of the test

OpenedLogRank ReadLogRank(const Task& task, const GridLogRank& test,
                          std::span<const mpc::IntMatrix> values) {
  OpenedLogRank opened;
  opened.passes = values[0].values.front() != 0;
  opened.shows_observed = values[1].values.front() != 0;
  opened.observed = Whole(values[2], task.max_rows());
  opened.steps = mpc::GridSteps(test.range, values[3]);
  opened.differences = mpc::InGridSteps(values[4], opened.steps);
  opened.errors = mpc::InGridSteps(values[5], opened.steps);
  for (std::vector<double>* numbers : {&opened.steps, &opened.differences, &opened.errors})
    Multiply(*numbers, std::ldexp(1.0, test.unit_bits));
  opened.chi_square =
      std::ldexp(mpc::DecodeFixed(values[6].values.front(), mpc::kGuardBits), -task.grid_bits);
  return opened;
}

}  // namespace

uint64_t NumOpened(const Task& task) {
  const uint64_t groups = task.spec.num_groups(), reports = task.spec.report.size();
  const uint64_t test = groups > 1 ? 3 + 4 * groups : 0;
  return groups * (2 + 5 * reports + kMediansOfGroup) + test;
}

std::optional<bool> EnoughRows(Engine& engine, const Task& task, const RiskSets& sets,
                               uint64_t min_rows) {
  const double most = task.max_rows();
  const Shared rows =
      mpc::SumOfRows(engine, engine.Slice(sets.at_risk, 0, 0, {1, sets.at_risk.shape.cols}), most);
  const double least = std::min(static_cast<double>(min_rows), most + 1);
  const std::vector<Shared> difference = {mpc::PlusConstant(engine, rows, -least, most + 1)};
  const std::vector<mpc::SharedBits> enough = {
      engine.Not(mpc::IsNegative(engine, difference).front())};
  const std::vector<mpc::BitMatrix> opened =
      engine.RevealBits(kDisclosureRelease, enough, mpc::kEverybody);
  if (!engine.self()) return std::nullopt;
  return mpc::GetBit(opened.front(), 0, 0);
}

std::optional<OpenedCurves> OpenCurves(Engine& engine, const Task& task, const RiskSets& sets,
                                       uint64_t min_cell) {
  Masks masks;
  const Unmasked all = MakeAll(engine, task, sets, min_cell, masks);
  const std::vector<Shared> opened = Masked(engine, task, all, masks);
  const std::vector<mpc::IntMatrix> learned = engine.Reveal(kCurvesRelease, opened, task.to);
  if (learned.front().values.empty()) return std::nullopt;

  OpenedCurves result;
  for (const uint64_t pass : Whole(learned[0], 1)) result.passes.push_back(pass != 0);
  const double most = task.max_rows();
  result.rows = Whole(learned[1], most);
  result.events = Whole(learned[2], most);
  result.remaining = Whole(learned[3], most);
  RequireRowsFit(result);
  result.steps = mpc::GridSteps(all.curves.range, learned[4]);
  result.log_survival = mpc::InGridSteps(learned[5], result.steps);
  result.errors = mpc::InGridSteps(learned[6], result.steps);
  for (std::vector<double>* numbers : {&result.steps, &result.log_survival, &result.errors})
    Multiply(*numbers, std::ldexp(1.0, -kUnitBits));
  result.medians = Whole(learned[7], static_cast<double>(MedianPlaces(task.spec).size()));
  if (task.spec.num_groups() > 1)
    result.log_rank = ReadLogRank(task, all.test, std::span(learned).subspan(kOpenedOfCurves));
  return result;
}

}  // namespace partita::methods::survival
