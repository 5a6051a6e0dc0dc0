#include "methods/glm/protocol.h"

#include <algorithm>
#include <cmath>

#include "methods/glm/step.h"
#include "methods/glm/wald.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/release_grid.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

constexpr double kMostError = 64;  // sqrt(2 kMostVariance), with room for rounding
constexpr double kLeastSquaredError = 0x1p-34;

Shared PublicColumn(Engine& engine, const Eigen::VectorXd& values, double bound) {
  mpc::IntMatrix matrix{{static_cast<size_t>(values.size()), 1}, {}};
  for (const double value : values) matrix.values.push_back(mpc::EncodeFixed(value, kStepBits));
  return WithBound(engine.Public({std::move(matrix), kStepBits}), bound);
}

Eigen::VectorXd Vector(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

Shared Repeat(Engine& engine, const Shared& value, size_t times) {
  return engine.SelectRows(value, std::vector<size_t>(times, 0));
}

}  // namespace

uint64_t NumIterate(const Task& task) { return 2 * task.num_columns(); }

uint64_t NumFit(const Task& task) {
  return 2 + (task.classes > 1 ? 1 : 0) + (task.spec.clustered() ? 1 : 0) + 2 * task.num_columns() +
         NumTotals(task.spec) + task.spec.terms.size();
}

Fitter::Fitter(Engine& engine, const Task& task, const OwnData& own, SharedTotals totals)
    : engine_(engine), task_(task), own_(own), totals_(std::move(totals)) {
  at_.setZero(static_cast<Eigen::Index>(task.num_columns()));
}

void Fitter::Solve(const SharedSums& sums) {
  solved_ = SolveStep(engine_, task_, sums, totals_.rows);
  failures_ = failures_.payload == nullptr ? solved_.failures
                                           : WithBound(engine_.Add(failures_, solved_.failures),
                                                       failures_.bound + solved_.failures.bound);
}

Collinear Fitter::First() {
  Solve(ShareFirst(engine_, task_, own_));
  const std::vector<Shared> flags = {solved_.collinear};
  const mpc::IntMatrix opened =
      engine_.Reveal(kIndependenceRelease, flags, mpc::kEverybody).front();
  Collinear collinear;
  for (size_t i = 0; i < opened.values.size(); ++i) {
    if (opened.values[i] != 0) collinear.columns.push_back(i);
  }
  return collinear;
}

void Fitter::OpenPoint(int point) {
  if (point > 0) Solve(ShareSums(engine_, task_, own_, at_, false));
  const int bits = task_.GridBitsOf(point);
  const Shared from = PublicColumn(engine_, at_, kMostCoordinate);
  Shared next = WithBound(engine_.Add(solved_.step, from), solved_.step.bound + kMostCoordinate);
  next = KeepWithin(engine_, next, kMostCoordinate, failures_);
  const mpc::GridMarks marks = mpc::MarkErrorGrids(engine_, solved_.variances, bits);
  const std::vector<Shared> opened = {
      marks.reached,
      mpc::RoundToGrids(engine_, {{next, kMostCoordinate, marks}}, nullptr, 0, bits).front()};
  const bool last = point == task_.spec.steps;
  const std::vector<mpc::IntMatrix> values =
      engine_.Reveal(last ? kEstimatesRelease : kIteratesRelease, opened, mpc::kEverybody);
  if (values.front().values.empty()) {
    fitted_.estimate_steps.setZero(at_.size());
    return;
  }
  const std::vector<double> steps = mpc::GridSteps(marks.range, values[0]);
  fitted_.estimate_steps = Vector(steps);
  at_ = Vector(mpc::InGridSteps(values[1], steps));
  fitted_.points.push_back(at_);
}

FitTotals Fitter::NumbersOfFit(const SharedSums& sums) {
  FitTotals numbers;
  std::vector<Shared> parts;
  if (NumTotals(task_.spec) > 0) {
    numbers = TotalsOf(engine_, task_, sums, totals_.rows);
    parts.push_back(numbers.totals);
  }
  if (!task_.spec.terms.empty()) {
    parts.push_back(WaldStatistics(engine_, task_, solved_, at_));
    numbers.bound = std::max(numbers.bound, parts.back().bound);
  }
  if (!parts.empty()) numbers.totals = engine_.Concatenate(parts, true);
  return numbers;
}

Fitted Fitter::Finish() {
  const size_t p = task_.num_columns();
  const SharedSums sums = ShareSums(engine_, task_, own_, at_, true);
  Solve(sums);
  const Shared limit = PublicColumn(engine_, fitted_.estimate_steps, kMostCoordinate);
  const Shared settled = Within(engine_, solved_.step, limit);
  const double most_outside = 2 * static_cast<double>(task_.max_rows());
  Shared failures = engine_.Add(failures_, CountZeros(engine_, settled));
  failures = WithBound(engine_.Add(failures, sums.outside),
                       failures_.bound + static_cast<double>(p) + most_outside);
  const std::vector<Shared> none = {mpc::PlusConstant(engine_, failures, -1, failures.bound + 1)};
  const Shared converged = engine_.ToRing(mpc::IsNegative(engine_, none)).front();

  const int bits = task_.grid_bits;
  mpc::GridMarks marks = mpc::MarkErrorGrids(engine_, solved_.variances, bits);
  const Shared doubled = WithBound(mpc::TimesPowerOfTwo(solved_.variances, 1), 2 * kMostVariance);
  const std::vector<mpc::PositiveValue> squared = {{doubled, kLeastSquaredError}};
  const Shared errors = WithBound(mpc::Root(engine_, squared, kStepBits).front(), kMostError);
  const size_t num_totals = NumTotals(task_.spec),
               num_numbers = num_totals + task_.spec.terms.size();
  const FitTotals totals = NumbersOfFit(sums);
  const std::vector<Shared> rounded =
      mpc::RoundToGrids(engine_, {{errors, kMostError, marks}},
                        num_numbers > 0 ? &totals.totals : nullptr, totals.bound, bits);
  const Shared of_columns = Repeat(engine_, converged, p);
  Shared reached, told_errors, told_totals;
  mpc::ProductRound masked(engine_);
  masked.Add(marks.reached, of_columns, marks.reached.bound, reached);
  masked.Add(rounded[0], of_columns, rounded[0].bound, told_errors);
  if (num_numbers > 0) {
    masked.Add(rounded[1], Repeat(engine_, converged, num_numbers), rounded[1].bound, told_totals);
  }
  masked.Run();

  std::vector<Shared> opened = {converged, totals_.rows};
  if (task_.classes > 1) opened.push_back(totals_.events);
  if (task_.spec.clustered()) opened.push_back(totals_.clusters);
  opened.insert(opened.end(), {reached, told_errors});
  if (num_numbers > 0) opened.push_back(told_totals);
  const std::vector<mpc::IntMatrix> values = engine_.Reveal(kFitRelease, opened, task_.to);
  if (values.front().values.empty()) return std::move(fitted_);
  FittedModel model;
  model.converged = values[0].values.front() != 0;
  model.rows = static_cast<uint64_t>(values[1].values.front());
  size_t next = 2;
  if (task_.classes > 1) model.events = static_cast<uint64_t>(values[next++].values.front());
  if (task_.spec.clustered()) model.clusters = static_cast<uint64_t>(values[next++].values.front());
  const std::vector<double> steps = mpc::GridSteps(marks.range, values[next]);
  model.steps = Vector(steps);
  model.standard_errors = Vector(mpc::InGridSteps(values[next + 1], steps));
  for (size_t i = 0; i < num_numbers; ++i) {
    const double number =
        std::ldexp(mpc::DecodeFixed(values[next + 2].values[i], mpc::kGuardBits), -bits);
    (i < num_totals ? model.totals : model.statistics).push_back(number);
  }
  fitted_.model = std::move(model);
  return std::move(fitted_);
}

}  // namespace partita::methods::glm
