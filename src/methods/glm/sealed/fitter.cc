#include "methods/glm/sealed/fitter.h"

#include <cmath>

#include "methods/glm/solve.h"
#include "methods/glm/told.h"
#include "methods/glm/wald.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/inverse.h"
#include "mpc/functions/scoring_path.h"
#include "mpc/together.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

// Eigenvalues of a correlation matrix that come out right, in units of the largest that there may be.
constexpr double kLeastEigenvalue = 0x1p-23;
constexpr int kStepInverseBits = 40, kSlopeBits = 56;
// Of directions: fractions of them stay within mpc::kMostCoordinate.
constexpr double kMostDirection = 16 * mpc::kMostCoordinate;

Shared ColumnOf(Engine& engine, const Shared& value, size_t rows) {
  return engine.SelectRows(value, std::vector<size_t>(rows, 0));
}

// U' d, 1 x 1.
Shared Slope(Engine& engine, const Shared& score, const Shared& step) {
  const auto p = static_cast<double>(score.shape.rows);
  Shared slope;
  mpc::ProductRound product(engine);
  product.Add(Kind::kGram, score, step, p * score.bound * step.bound, slope);
  product.Run();
  return slope;
}

// [value < limit], by entry.
Shared IsLess(Engine& engine, const Shared& value, double limit) {
  const std::vector<Shared> less = {
      mpc::PlusConstant(engine, value, -limit, value.bound + std::abs(limit))};
  return engine.ToRing(mpc::IsNegative(engine, less)).front();
}

// Where standard errors have a dispersion, which may be small, in units of those without.
double DecrementOf(const Task& task) {
  return task.spec.law.family == stats::glm::Family::kGamma ? kSealedGammaDecrement
                                                            : kSealedDecrement;
}

// In the unit of the task, and on the grid of what it is compared with.
double InUnit(const Task& task, double value) {
  return std::ldexp(value, -task.units.row_bits - task.units.weight_bits);
}

// from + bit (to - from), `bit` of as many rows or 1 x 1 made so.
struct Choice {
  Shared *value, to;
  double bound = 0;
};

void Choose(Engine& engine, const Shared& bit, std::vector<Choice> choices) {
  std::vector<Shared> changes(choices.size());
  mpc::ProductRound products(engine);
  for (size_t i = 0; i < choices.size(); ++i) {
    const Shared difference =
        WithBound(engine.Subtract(choices[i].to, *choices[i].value), 2 * choices[i].bound);
    products.Add(ColumnOf(engine, bit, difference.shape.rows), difference, 2 * choices[i].bound,
                 changes[i]);
  }
  products.Run();
  for (size_t i = 0; i < choices.size(); ++i)
    *choices[i].value = WithBound(engine.Add(*choices[i].value, changes[i]), choices[i].bound);
}

}  // namespace

uint64_t NumSealedFit(const Task& task) { return NumFit(task) + task.num_columns(); }

SealedFitter::SealedFitter(Engine& engine, const Task& task, SealedSums& sums, SharedTotals totals,
                           Shared failures)
    : engine_(engine),
      task_(task),
      sums_(sums),
      totals_(std::move(totals)),
      failures_(std::move(failures)) {}

void SealedFitter::Fail(const Shared& failures) {
  failures_ = failures_.payload == nullptr
                  ? failures
                  : WithBound(engine_.Add(failures_, failures), failures_.bound + failures.bound);
}

Collinear SealedFitter::First() {
  const bool gamma = task_.spec.law.family == stats::glm::Family::kGamma;
  best_ = sums_.Start();
  at_best_ = gamma ? sums_.OfLogarithms() : sums_.At(best_, false);
  const mpc::SolvedStep solved = SolveSums(engine_, task_, at_best_, totals_.rows);
  Fail(solved.failures);
  if (gamma) {
    best_ = mpc::KeepWithin(engine_, solved.step, mpc::kMostCoordinate, failures_);
    at_best_ = sums_.At(best_, false);
    direction_ = Direction();
  } else {
    direction_ = mpc::KeepWithin(engine_, solved.step, kMostDirection, failures_);
  }
  fraction_ = WithBound(engine_.Public({{{1, 1}, {2}}, 1}), 1);
  if (!task_.hidden_rows) return TellCollinear(engine_, task_, solved.collinear);
  Fail(WithBound(engine_.SumRows(solved.collinear), static_cast<double>(task_.num_columns())));
  return {};
}

SealedFitter::Trial SealedFitter::Tried() {
  Shared step;
  mpc::ProductRound product(engine_);
  product.AddCut(ColumnOf(engine_, fraction_, task_.num_columns()), direction_, kMostDirection,
                 mpc::kStepBits, step);
  product.Run();
  const Shared next = WithBound(engine_.Add(best_, step), 2 * kMostDirection);
  Trial trial;
  trial.beyond = WithBound(engine_.Public({{{1, 1}, {0}}, 0}), 0);
  trial.point = mpc::KeepWithin(engine_, next, mpc::kMostCoordinate, trial.beyond);
  return trial;
}

Shared SealedFitter::Direction() {
  const auto p = static_cast<double>(task_.num_columns());
  const mpc::ScaledInformation scaled =
      ScaleInformation(engine_, at_best_.information, at_best_.score);
  const Shared weighted = mpc::KeepWithin(engine_, scaled.weighted, mpc::kMostWeighted, failures_);
  const double least = p * kLeastEigenvalue;
  const Shared damped = [&] {
    mpc::IntMatrix diagonal{{task_.num_columns(), task_.num_columns()}, {}};
    diagonal.values.assign(task_.num_columns() * task_.num_columns(), 0);
    for (size_t i = 0; i < task_.num_columns(); ++i)
      diagonal.values[i * (task_.num_columns() + 1)] =
          mpc::EncodeFixed(least, scaled.correlation.fraction_bits);
    const Shared ridge =
        WithBound(engine_.Public({std::move(diagonal), scaled.correlation.fraction_bits}), 1);
    return WithBound(engine_.Add(scaled.correlation, ridge), scaled.correlation.bound);
  }();
  const std::vector<mpc::PositiveMatrix> matrices = {{damped, p * (1 + 0x1p-10), least}};
  const Shared inverse = mpc::InvertPositive(engine_, matrices, kStepInverseBits).front();
  Shared direction, step;
  mpc::ProductRound solve(engine_);
  solve.AddCut(Kind::kMatrix, inverse, weighted, p * inverse.bound * mpc::kMostWeighted,
               mpc::kStepBits, direction);
  solve.Run();
  mpc::ProductRound scale(engine_);
  scale.AddCut(direction, scaled.scale, direction.bound * scaled.scale.bound, mpc::kStepBits, step);
  scale.Run();
  return mpc::KeepWithin(engine_, step, kMostDirection, failures_);
}

void SealedFitter::Step() {
  const Trial tried = Tried();
  const SharedSums sums = sums_.At(tried.point, false);
  Shared slope = Slope(engine_, sums.score, direction_);
  mpc::CutRound cut(engine_);
  cut.Add(slope, kSlopeBits, slope.bound);
  cut.Run();
  // What is beyond the limits falls, whatever its slope is.
  const double fall = std::exp2(std::ceil(std::log2(slope.bound + 1)));
  const Shared falls = mpc::TimesConstant(engine_, tried.beyond, fall, 0);
  slope = WithBound(engine_.Subtract(slope, mpc::Lift(engine_, falls, slope.fraction_bits)),
                    slope.bound + fall * tried.beyond.bound);
  const Shared lower = IsLess(engine_, slope, -InUnit(task_, kSealedSlack));
  const Shared taken = mpc::PlusConstant(engine_, engine_.Scale(lower, -1), 1, 1);
  // t goes on as 1, or as a half of itself: one fraction bit more.
  const Shared half = mpc::TimesPowerOfTwo(fraction_, -1);
  const Shared whole = mpc::ConstantLike(engine_, half, 1, half.fraction_bits);
  fraction_ = WithBound(half, 1);
  Choose(engine_, WithBound(taken, 1),
         {{&best_, tried.point, mpc::kMostCoordinate},
          {&at_best_.score, sums.score, sums.score.bound},
          {&at_best_.information, sums.information, 1},
          {&fraction_, WithBound(whole, 1), 1}});
  direction_ = Direction();
}

Fitted SealedFitter::Finish(const SealedRisk* risk) {
  const Trial tried = Tried();
  Fail(tried.beyond);
  const Shared& last = tried.point;
  const SharedSums sums = sums_.At(last, true);
  mpc::SolvedStep solved;
  FitTotals totals;
  std::vector<mpc::Task> tasks = {
      [&](Engine& e) { solved = SolveSums(e, task_, sums, totals_.rows); }};
  if (NumTotals(task_.spec) > 0)
    tasks.emplace_back([&](Engine& e) { totals = TotalsOf(e, task_, sums, totals_.rows); });
  Shared risk_numbers;
  if (risk != nullptr) {
    tasks.emplace_back([&](Engine& e) {
      const SharedRisk counted = SealedRiskAt(e, task_, *risk, sums_.Last());
      risk_numbers = RiskNumbersFrom(e, task_, counted, risk->min_cell);
    });
  }
  mpc::Together(engine_, tasks);
  Fail(solved.failures);
  Fail(sums.outside);
  if (HasDispersion(task_.spec.law)) Fail(LeavesNothing(engine_, task_, sums));
  const Shared step = mpc::KeepWithin(engine_, solved.step, mpc::kMostCoordinate, failures_);
  Shared settled, too_small;
  std::vector<mpc::Task> checks = {
      [&](Engine& e) {
        settled = IsLess(e, Slope(e, sums.score, step), InUnit(task_, DecrementOf(task_)));
      },
      // An error without a grid would open as 0.
      [&](Engine& e) { too_small = IsLess(e, solved.variances, mpc::kLeastErrorGrid); }};
  mpc::Together(engine_, checks);
  Fail(mpc::CountZeros(engine_, WithBound(settled, 1)));
  Fail(WithBound(engine_.SumRows(too_small), static_cast<double>(task_.num_columns())));
  Shared estimates = WithBound(engine_.Add(last, step), 2 * mpc::kMostCoordinate);
  estimates = mpc::KeepWithin(engine_, estimates, mpc::kMostCoordinate, failures_);
  const std::vector<Shared> none = {mpc::PlusConstant(engine_, failures_, -1, failures_.bound + 1)};
  const Shared converged = engine_.ToRing(mpc::IsNegative(engine_, none)).front();
  Fitted fitted;
  fitted.estimate_steps.setZero(static_cast<Eigen::Index>(task_.num_columns()));
  SharedTotals counts = totals_;
  if (task_.hidden_rows && task_.spec.law.binary) {
    mpc::ProductRound keep(engine_);
    keep.Add(totals_.events, converged, totals_.events.bound, counts.events);
    keep.Run();
  }
  const auto opens_if = [&](Engine&) -> const Shared& { return converged; };
  const auto statistics = [&](Engine& e) {
    return WaldStatistics(e, task_, solved, GuessTerms(e, task_, solved, estimates));
  };
  auto told = TellFit(engine_, task_, counts,
                      {opens_if, estimates, solved.variances, totals, statistics, risk_numbers});
  if (!told) return fitted;
  fitted.points = {told->estimates};
  fitted.estimate_steps = told->model.steps;
  fitted.model = std::move(told->model);
  return fitted;
}

}  // namespace partita::methods::glm
