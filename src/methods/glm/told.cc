#include "methods/glm/told.h"

#include <cmath>

#include "methods/glm/step.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/release_grid.h"

namespace partita::methods::glm {
namespace {

constexpr double kMostError = 64;  // sqrt(2 kMostVariance), with room for rounding
constexpr double kLeastSquaredError = 0x1p-34;

Eigen::VectorXd AsVector(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

mpc::Shared Repeated(mpc::Engine& engine, const mpc::Shared& value, size_t times) {
  return engine.SelectRows(value, std::vector<size_t>(times, 0));
}

}  // namespace

std::optional<ToldFit> TellFit(mpc::Engine& engine, const Task& task, const SharedTotals& totals,
                               const FitToTell& fit) {
  using mpc::Shared;
  const size_t p = task.num_columns();
  const int bits = task.grid_bits;
  const bool estimates = fit.estimates.payload != nullptr;
  mpc::GridMarks marks = mpc::MarkErrorGrids(engine, fit.variances, bits);
  const Shared doubled = mpc::WithBound(mpc::TimesPowerOfTwo(fit.variances, 1), 2 * kMostVariance);
  const std::vector<mpc::PositiveValue> squared = {{doubled, kLeastSquaredError}};
  const Shared errors = mpc::WithBound(mpc::Root(engine, squared, kStepBits).front(), kMostError);
  const size_t num_totals = NumTotals(task.spec);
  FitTotals numbers;
  if (num_totals > 0) numbers = TotalsOf(engine, task, fit.sums, totals.rows);
  std::vector<mpc::GridNumbers> on_grids = {{errors, kMostError, marks}};
  if (estimates) on_grids.push_back({fit.estimates, kMostCoordinate, marks});
  const std::vector<Shared> rounded = mpc::RoundToGrids(
      engine, on_grids, num_totals > 0 ? &numbers.totals : nullptr, numbers.bound, bits);
  const Shared of_columns = Repeated(engine, fit.converged, p);
  // Reached grids, then what was rounded, all of it 0 where the fit did not converge.
  std::vector<Shared> told(rounded.size() + 1);
  mpc::ProductRound masked(engine);
  masked.Add(marks.reached, of_columns, marks.reached.bound, told[0]);
  for (size_t i = 0; i < rounded.size(); ++i) {
    const bool of_total = i == on_grids.size();
    masked.Add(rounded[i], of_total ? Repeated(engine, fit.converged, num_totals) : of_columns,
               rounded[i].bound, told[i + 1]);
  }
  masked.Run();

  std::vector<Shared> opened = {fit.converged, totals.rows};
  if (task.classes > 1) opened.push_back(totals.events);
  if (task.spec.clustered()) opened.push_back(totals.clusters);
  const size_t next = opened.size();
  opened.insert(opened.end(), told.begin(), told.end());
  const std::vector<mpc::IntMatrix> values = engine.Reveal(kFitRelease, opened, task.to);
  if (values.front().values.empty()) return {};
  const auto count = [&](size_t place) {
    return static_cast<uint64_t>(values[place].values.front());
  };
  ToldFit made;
  FittedModel& model = made.model;
  model.converged = values[0].values.front() != 0;
  model.rows = count(1);
  if (task.classes > 1) model.events = count(2);
  if (task.spec.clustered()) model.clusters = count(next - 1);
  const std::vector<double> steps = mpc::GridSteps(marks.range, values[next]);
  model.steps = AsVector(steps);
  model.standard_errors = AsVector(mpc::InGridSteps(values[next + 1], steps));
  if (estimates) made.estimates = AsVector(mpc::InGridSteps(values[next + 2], steps));
  if (num_totals > 0) {
    for (const Int128 total : values.back().values)
      model.totals.push_back(std::ldexp(mpc::DecodeFixed(total, mpc::kGuardBits), -bits));
  }
  return made;
}

}  // namespace partita::methods::glm
