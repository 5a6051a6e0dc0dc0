#include "methods/survival/curves.h"

#include <algorithm>
#include <cmath>

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/division.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/order.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/together.h"

namespace partita::methods::survival {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

constexpr int kLogBits = 46, kMostVarianceBits = 60, kErrorBits = 40;
// What Divide can carry (division.h): fraction bits and log2 of the denominator's bound.
constexpr int kDivisionBits = 117;
constexpr double kLeastSquaredError = 0x1p-34;

// Of log S, that of the arithmetic after the last row left included.
double MostLog(double most_rows) { return 2 * std::log(std::max(most_rows, 2.0)) + 1; }

}  // namespace

CurveValues CurvesOf(Engine& engine, const Task& task, const RiskSets& sets) {
  const double most = std::max(task.max_rows(), 2.0);
  Shared change, part;
  const std::vector<mpc::Task> tasks = {
      [&](Engine& e) {
        const std::vector<mpc::PositiveValue> counts = {{sets.after, 1}, {sets.at_risk, 1}};
        const std::vector<Shared> logs = mpc::Log(e, counts, kLogBits);
        change = WithBound(e.Subtract(logs[0], logs[1]), std::log(most) + 1);
      },
      [&](Engine& e) {
        Shared pairs;
        mpc::ProductRound product(e);
        product.Add(sets.at_risk, sets.after, most * most, pairs);
        product.Run();
        const int bits = std::min(kMostVarianceBits,
                                  kDivisionBits - 2 * static_cast<int>(std::ceil(std::log2(most))));
        const std::vector<mpc::Quotient> quotients = {{sets.events, {pairs, 1}, 1}};
        part = WithBound(mpc::Divide(e, quotients, bits).front(), 1);
      }};
  mpc::Together(engine, tasks);
  return {WithBound(mpc::CumulativeSums(engine, change), MostLog(most)),
          WithBound(mpc::CumulativeSums(engine, part), 2)};
}

GridCurves CurvesOnGrid(Engine& engine, const Task& task, const CurveValues& values) {
  const size_t entries = task.spec.report.size() * task.spec.num_groups();
  const auto at_reports = [&](const Shared& value, int exponent) {
    const Shared at = mpc::Reshape(engine.SelectRows(value, task.spec.report), {entries, 1});
    return WithBound(mpc::TimesPowerOfTwo(at, exponent), std::ldexp(value.bound, exponent));
  };
  const Shared log_survival = at_reports(values.log_survival, kUnitBits);
  const Shared squared = at_reports(values.variance, 2 * kUnitBits);
  const Shared half = WithBound(mpc::TimesPowerOfTwo(squared, -1), std::ldexp(squared.bound, -1));
  const double most_error = std::sqrt(squared.bound) + 1;
  mpc::GridMarks marks;
  Shared errors;
  const std::vector<mpc::Task> tasks = {
      [&](Engine& e) { marks = mpc::MarkErrorGrids(e, half, task.grid_bits); },
      [&](Engine& e) {
        const std::vector<mpc::PositiveValue> positive = {{squared, kLeastSquaredError}};
        errors = WithBound(mpc::Root(e, positive, kErrorBits).front(), most_error);
      }};
  mpc::Together(engine, tasks);
  const std::vector<Shared> rounded = mpc::RoundToGrids(
      engine, {{log_survival, log_survival.bound, marks}, {errors, most_error, marks}}, nullptr, 0,
      task.grid_bits);
  return {marks.range, marks.reached, rounded[0], rounded[1]};
}

}  // namespace partita::methods::survival
