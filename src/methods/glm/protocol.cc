#include "methods/glm/protocol.h"

#include <algorithm>
#include <cmath>

#include "methods/glm/firth.h"
#include "methods/glm/risk.h"
#include "methods/glm/solve.h"
#include "methods/glm/told.h"
#include "methods/glm/wald.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/covariance_grid.h"
#include "mpc/together.h"

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

uint64_t NumErrors(const Task& task) {
  return task.spec.covariance ? mpc::NumCovariances(task.num_columns()) : task.num_columns();
}

uint64_t NumFit(const Task& task) {
  return 2 + (task.spec.law.binary ? 1 : 0) + (task.spec.clustered() ? 1 : 0) + task.num_columns() +
         NumErrors(task) + NumTotals(task.spec) + task.spec.terms.size() +
         NumRiskNumbers(task.spec);
}

Fitter::Fitter(Engine& engine, const Task& task, const OwnData& own, SharedTotals totals,
               uint64_t min_cell)
    : engine_(engine), task_(task), own_(own), totals_(std::move(totals)), min_cell_(min_cell) {
  at_.setZero(static_cast<Eigen::Index>(task.num_columns()));
}

void Fitter::Solve(Engine& engine, const SharedSums& sums, std::optional<int> point) {
  const bool first = failures_.payload == nullptr, changed = task_.spec.firth && !first;
  std::optional<mpc::NextPoint> next;
  if (point && !changed) next = {Values(at_), task_.GridBitsOf(*point)};
  solved_ = SolveSums(engine, task_, sums, totals_.rows, first ? nullptr : &solved_, next,
                      task_.spec.covariance && !point);
  if (changed) AddFirth(engine, task_, sums.third, solved_);
  failures_ = first ? solved_.failures
                    : WithBound(engine.Add(failures_, solved_.failures),
                                failures_.bound + solved_.failures.bound);
}

Collinear Fitter::First() {
  Solve(engine_, ShareFirst(engine_, task_, own_), 0);
  return TellCollinear(engine_, task_, solved_.collinear);
}

void Fitter::OpenPoint(int point) {
  if (point > 0) Solve(engine_, ShareSums(engine_, task_, own_, at_, false), point);
  const bool last = point == task_.spec.steps;
  const mpc::PathPoint opened =
      mpc::OpenPoint(engine_, task_.prefix + (last ? kEstimatesRelease : kIteratesRelease),
                     Values(at_), solved_, task_.GridBitsOf(point), failures_);
  fitted_.estimate_steps = Vector(opened.steps);
  at_ = Vector(opened.at);
  if (opened.learned) fitted_.points.push_back(at_);
}

Fitted Fitter::Finish() {
  const SharedSums sums = ShareSums(engine_, task_, own_, at_, true);
  const mpc::SolvedStep before = solved_;
  FitTotals totals;
  TermGuesses guesses;
  std::vector<mpc::Task> tasks = {[&](Engine& e) { Solve(e, sums, {}); }};
  if (!task_.spec.terms.empty())
    tasks.emplace_back([&](Engine& e) { guesses = GuessTerms(e, task_, before, at_); });
  if (NumTotals(task_.spec) > 0)
    tasks.emplace_back([&](Engine& e) { totals = TotalsOf(e, task_, sums, totals_.rows); });
  mpc::Together(engine_, tasks);
  const auto converged = [&](Engine& e) {
    const double most_outside = 2 * static_cast<double>(task_.max_rows());
    Shared failures = WithBound(e.Add(failures_, sums.outside), failures_.bound + most_outside);
    if (task_.spec.law.family == stats::glm::Family::kGaussian)
      failures = WithBound(e.Add(failures, LeavesNothing(e, task_, sums)), failures.bound + 1);
    return mpc::Converged(e, solved_, Values(fitted_.estimate_steps), failures);
  };
  const auto statistics = [&](Engine& e) { return WaldStatistics(e, task_, solved_, guesses); };
  Shared risk;
  if (!task_.spec.cuts.empty()) risk = RiskNumbers(engine_, task_, own_, at_, min_cell_);
  if (auto told = TellFit(
          engine_, task_, totals_,
          {converged, {}, solved_.variances, totals, statistics, risk, solved_.covariances}))
    fitted_.model = std::move(told->model);
  return std::move(fitted_);
}

}  // namespace partita::methods::glm
