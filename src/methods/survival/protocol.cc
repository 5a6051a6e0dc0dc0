#include "methods/survival/protocol.h"

#include <algorithm>
#include <cmath>

#include "methods/survival/cells.h"
#include "methods/survival/curves.h"
#include "methods/survival/log_rank.h"
#include "methods/survival/medians.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"

namespace partita::methods::survival {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

std::vector<uint64_t> Whole(const mpc::IntMatrix& numbers) {
  std::vector<uint64_t> whole;
  for (const Int128 value : numbers.values) whole.push_back(static_cast<uint64_t>(value));
  return whole;
}

void Multiply(std::vector<double>& values, double factor) {
  for (double& value : values) value *= factor;
}

// report x groups: the group passes, and somebody leaves after the report time. A curve of which
// nobody is left says when the last one did.
Shared CurveMask(Engine& engine, const Shared& curves, const Shared& remaining) {
  const std::vector<Shared> less = {mpc::PlusConstant(engine, remaining, -1, remaining.bound + 1)};
  const std::vector<mpc::SharedBits> some = {engine.Not(mpc::IsNegative(engine, less).front())};
  const Shared left = engine.ToRing(some).front();
  const Shared passes =
      engine.SelectRows(engine.Transpose(curves), std::vector<size_t>(remaining.shape.rows, 0));
  Shared mask;
  mpc::ProductRound product(engine);
  product.Add(left, passes, 1, mask);
  product.Run();
  return mask;
}

OpenedLogRank ReadLogRank(const Task& task, const GridLogRank& test,
                          std::span<const mpc::IntMatrix> values) {
  OpenedLogRank opened;
  opened.passes = values[0].values.front() != 0;
  opened.shows_observed = values[1].values.front() != 0;
  opened.observed = Whole(values[2]);
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
  const size_t groups = task.spec.num_groups(), reports = task.spec.report.size();
  const double most = task.max_rows();
  const Passes passes = CheckCells(engine, task, sets, min_cell);
  const ReportCounts counts = CountsAtReports(engine, task, sets);
  const Shared by_report =
      engine.SelectRows(engine.Transpose(passes.curves), std::vector<size_t>(reports, 0));
  std::vector<Shared> opened(4);
  opened[0] = passes.curves;
  mpc::ProductRound masked(engine);
  masked.Add(mpc::Reshape(counts.rows, {groups, 1}), passes.curves, most, opened[1]);
  masked.Add(counts.events, by_report, most, opened[2]);
  masked.Add(counts.remaining, by_report, most, opened[3]);
  masked.Run();
  const CurveValues values = CurvesOf(engine, task, sets);
  const GridCurves curves =
      CurvesOnGrid(engine, task, values, CurveMask(engine, passes.curves, counts.remaining));
  opened.insert(opened.end(), {curves.reached, curves.log_survival, curves.errors});
  opened.push_back(MedianCells(engine, task, sets, values, passes.curves, min_cell));
  const size_t of_curves = opened.size();
  GridLogRank test;
  if (groups > 1) {
    test = LogRankOnGrid(engine, task, sets, passes);
    opened.insert(opened.end(), {passes.log_rank, test.shows_observed, test.observed, test.reached,
                                 test.differences, test.errors, test.chi_square});
  }
  const std::vector<mpc::IntMatrix> learned = engine.Reveal(kCurvesRelease, opened, task.to);
  if (learned.front().values.empty()) return std::nullopt;

  OpenedCurves result;
  for (const uint64_t pass : Whole(learned[0])) result.passes.push_back(pass != 0);
  result.rows = Whole(learned[1]);
  result.events = Whole(learned[2]);
  result.remaining = Whole(learned[3]);
  result.steps = mpc::GridSteps(curves.range, learned[4]);
  result.log_survival = mpc::InGridSteps(learned[5], result.steps);
  result.errors = mpc::InGridSteps(learned[6], result.steps);
  for (std::vector<double>* numbers : {&result.steps, &result.log_survival, &result.errors})
    Multiply(*numbers, std::ldexp(1.0, -kUnitBits));
  result.medians = Whole(learned[7]);
  if (groups > 1) result.log_rank = ReadLogRank(task, test, std::span(learned).subspan(of_curves));
  return result;
}

}  // namespace partita::methods::survival
