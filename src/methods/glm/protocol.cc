#include "methods/glm/protocol.h"

#include <algorithm>
#include <cmath>

#include "methods/glm/solve.h"
#include "methods/glm/told.h"
#include "methods/glm/wald.h"
#include "mpc/functions/arithmetic.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

Eigen::VectorXd Vector(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

std::vector<double> Values(const Eigen::VectorXd& vector) {
  return {vector.data(), vector.data() + vector.size()};
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
  solved_ = SolveSums(engine_, task_, sums, totals_.rows);
  failures_ = failures_.payload == nullptr ? solved_.failures
                                           : WithBound(engine_.Add(failures_, solved_.failures),
                                                       failures_.bound + solved_.failures.bound);
}

Collinear Fitter::First() {
  Solve(ShareFirst(engine_, task_, own_));
  return TellCollinear(engine_, solved_.collinear);
}

void Fitter::OpenPoint(int point) {
  if (point > 0) Solve(ShareSums(engine_, task_, own_, at_, false));
  const bool last = point == task_.spec.steps;
  const mpc::PathPoint opened =
      mpc::OpenPoint(engine_, last ? kEstimatesRelease : kIteratesRelease, Values(at_), solved_,
                     task_.GridBitsOf(point), failures_);
  fitted_.estimate_steps = Vector(opened.steps);
  at_ = Vector(opened.at);
  if (opened.learned) fitted_.points.push_back(at_);
}

Fitted Fitter::Finish() {
  const SharedSums sums = ShareSums(engine_, task_, own_, at_, true);
  Solve(sums);
  const double most_outside = 2 * static_cast<double>(task_.max_rows());
  const Shared failures =
      WithBound(engine_.Add(failures_, sums.outside), failures_.bound + most_outside);
  const Shared converged =
      mpc::Converged(engine_, solved_, Values(fitted_.estimate_steps), failures);
  Shared statistics;
  if (!task_.spec.terms.empty()) statistics = WaldStatistics(engine_, task_, solved_, at_);
  if (auto told =
          TellFit(engine_, task_, totals_, {converged, {}, solved_.variances, statistics, sums}))
    fitted_.model = std::move(told->model);
  return std::move(fitted_);
}

}  // namespace partita::methods::glm
