#include "methods/glm/protocol.h"

#include <algorithm>
#include <cmath>

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/division.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

constexpr int kDispersionBits = 30;

// Pearson's sum over n - p, 1 x 1.
Shared Dispersion(Engine& engine, const Task& task, const SharedSums& sums, const Shared& rows) {
  const size_t coefficients = task.spec.num_coefficients();
  const auto most = static_cast<double>(task.max_rows());
  const int row_bits = task.units.row_bits;
  Shared freedom = mpc::PlusConstant(engine, rows, -static_cast<double>(coefficients), most);
  freedom = WithBound(mpc::TimesPowerOfTwo(freedom, -row_bits), std::ldexp(most, -row_bits));
  // At least ten degrees of freedom and two for each column: n is at most 1.5 times that.
  const double largest = 2 * task.units.most_pearson;
  const std::vector<mpc::Quotient> quotient = {
      {sums.pearson, {freedom, std::ldexp(1.0, -row_bits)}, largest}};
  return WithBound(mpc::Divide(engine, quotient, kDispersionBits).front(), largest);
}

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
         NumTotals(task.spec);
}

Fitter::Fitter(Engine& engine, const Task& task, const OwnData& own, SharedTotals totals)
    : engine_(engine), task_(task), own_(own), totals_(std::move(totals)) {
  at_.setZero(static_cast<Eigen::Index>(task.num_columns()));
}

void Fitter::Solve(const SharedSums& sums) {
  mpc::ScoringSums scoring{sums.information, sums.score};
  scoring.unit_bits = task_.units.row_bits + task_.units.weight_bits;
  if (task_.spec.robust()) scoring.meat = sums.meat;
  if (TakesDispersion(task_.spec))
    scoring.dispersion = Dispersion(engine_, task_, sums, totals_.rows);
  solved_ = SolveStep(engine_, scoring);
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
  const int bits = task_.grid_bits;
  const size_t num_totals = NumTotals(task_.spec);
  FitTotals totals;
  if (num_totals > 0) totals = TotalsOf(engine_, task_, sums, totals_.rows);
  const mpc::ErrorsOnGrid told =
      mpc::OnErrorGrid(engine_, solved_.variances, num_totals > 0 ? &totals.totals : nullptr,
                       totals.bound, bits, converged);

  std::vector<Shared> opened = {converged, totals_.rows};
  if (task_.classes > 1) opened.push_back(totals_.events);
  if (task_.spec.clustered()) opened.push_back(totals_.clusters);
  opened.insert(opened.end(), {told.reached, told.errors});
  if (num_totals > 0) opened.push_back(told.totals);
  const std::vector<mpc::IntMatrix> values = engine_.Reveal(kFitRelease, opened, task_.to);
  if (values.front().values.empty()) return std::move(fitted_);
  FittedModel model;
  model.converged = values[0].values.front() != 0;
  model.rows = static_cast<uint64_t>(values[1].values.front());
  size_t next = 2;
  if (task_.classes > 1) model.events = static_cast<uint64_t>(values[next++].values.front());
  if (task_.spec.clustered()) model.clusters = static_cast<uint64_t>(values[next++].values.front());
  const std::vector<double> steps = mpc::GridSteps(told.range, values[next]);
  model.steps = Vector(steps);
  model.standard_errors = Vector(mpc::InGridSteps(values[next + 1], steps));
  if (num_totals > 0) {
    for (const Int128 total : values[next + 2].values)
      model.totals.push_back(std::ldexp(mpc::DecodeFixed(total, mpc::kGuardBits), -bits));
  }
  fitted_.model = std::move(model);
  return std::move(fitted_);
}

}  // namespace partita::methods::glm
