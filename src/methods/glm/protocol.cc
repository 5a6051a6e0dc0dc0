#include "methods/glm/protocol.h"

#include <algorithm>
#include <cmath>

#include "methods/glm/step.h"
#include "methods/glm/told.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/release_grid.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

Shared PublicColumn(Engine& engine, const Eigen::VectorXd& values, double bound) {
  mpc::IntMatrix matrix{{static_cast<size_t>(values.size()), 1}, {}};
  for (const double value : values) matrix.values.push_back(mpc::EncodeFixed(value, kStepBits));
  return WithBound(engine.Public({std::move(matrix), kStepBits}), bound);
}

Eigen::VectorXd Vector(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

}  // namespace

uint64_t NumIterate(const Task& task) { return 2 * task.num_columns(); }

uint64_t NumFit(const Task& task) {
  return 2 + (task.classes > 1 ? 1 : 0) + (task.spec.clustered() ? 1 : 0) + 2 * task.num_columns() +
         NumTotals(task.spec);
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

Fitted Fitter::Finish() {
  const SharedSums sums = ShareSums(engine_, task_, own_, at_, true);
  Solve(sums);
  const Shared limit = PublicColumn(engine_, fitted_.estimate_steps, kMostCoordinate);
  const Shared settled = Within(engine_, solved_.step, limit);
  const double most_outside = 2 * static_cast<double>(task_.max_rows());
  Shared failures = engine_.Add(failures_, CountZeros(engine_, settled));
  failures = WithBound(engine_.Add(failures, sums.outside),
                       failures_.bound + static_cast<double>(task_.num_columns()) + most_outside);
  const std::vector<Shared> none = {mpc::PlusConstant(engine_, failures, -1, failures.bound + 1)};
  const Shared converged = engine_.ToRing(mpc::IsNegative(engine_, none)).front();

  if (auto told = TellFit(engine_, task_, totals_, {converged, {}, solved_.variances, sums}))
    fitted_.model = std::move(told->model);
  return std::move(fitted_);
}

}  // namespace partita::methods::glm
