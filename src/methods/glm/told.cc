#include "methods/glm/told.h"

#include <algorithm>
#include <cmath>

#include "methods/glm/risk.h"
#include "methods/glm/wald.h"
#include "mpc/functions/covariance_grid.h"
#include "mpc/functions/scoring_path.h"

namespace partita::methods::glm {
namespace {

Eigen::VectorXd AsVector(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

// The totals, then the statistics of terms, then those of risk groups.
mpc::Shared NumbersOf(mpc::Engine& engine, const Task& task, const FitToTell& fit) {
  std::vector<mpc::Shared> parts;
  if (NumTotals(task.spec) > 0) parts.push_back(fit.totals.totals);
  if (!task.spec.terms.empty()) parts.push_back(fit.statistics(engine));
  if (!task.spec.cuts.empty()) parts.push_back(fit.risk);
  return engine.Concatenate(parts, true);
}

double MostNumber(const Task& task, const FitToTell& fit) {
  return std::max({NumTotals(task.spec) > 0 ? fit.totals.bound : 0.0,
                   task.spec.terms.empty() ? 0.0 : kMostStatistic + 1,
                   task.spec.cuts.empty() ? 0.0 : fit.risk.bound});
}

// by_rows: p x p.
void TakeCovariances(const std::vector<double>& by_rows, FittedModel& model) {
  const Eigen::Index p = model.steps.size();
  model.covariance = Eigen::Map<const Eigen::MatrixXd>(by_rows.data(), p, p);
  model.covariance_steps = model.steps;
  model.standard_errors = model.covariance.diagonal().cwiseMax(0).cwiseSqrt();
  if (!mpc::HasVariances(by_rows, static_cast<size_t>(p))) model.converged = false;
}

// Shares of somebody that are other ones than the protocol's mostly open numbers like these.
void RequirePossible(const Task& task, const mpc::IntMatrix& converged, const FittedModel& model) {
  const bool bit = converged.values.front() == 0 || converged.values.front() == 1;
  const bool rows_fit = model.rows <= task.max_rows() && model.events <= model.rows &&
                        model.clusters <= (task.spec.sealed ? task.max_rows() : model.rows) &&
                        (!model.converged || model.rows > task.spec.num_coefficients());
  if (!bit || !rows_fit) throw mpc::NoSuchOpening("the numbers of rows do not fit the study");
  if (model.converged && !(model.standard_errors.array() > 0).all())
    throw mpc::NoSuchOpening("a standard error is not above 0");
}

}  // namespace

Collinear TellCollinear(mpc::Engine& engine, const Task& task, const mpc::Shared& collinear) {
  const std::vector<mpc::Shared> flags = {collinear};
  const mpc::IntMatrix opened =
      engine.Reveal(task.prefix + kIndependenceRelease, flags, mpc::kEverybody).front();
  Collinear told;
  for (size_t i = 0; i < opened.values.size(); ++i) {
    if (opened.values[i] != 0 && opened.values[i] != 1)
      throw mpc::NoSuchOpening("whether a column follows from others is no bit");
    if (opened.values[i] != 0) told.columns.push_back(i);
  }
  return told;
}

std::optional<ToldFit> TellFit(mpc::Engine& engine, const Task& task, const SharedTotals& totals,
                               const FitToTell& fit) {
  const bool estimates = fit.estimates.payload != nullptr;
  const size_t num_totals = NumTotals(task.spec),
               num_statistics = num_totals + task.spec.terms.size(),
               num_numbers = num_statistics + NumRiskNumbers(task.spec);
  std::function<mpc::Shared(mpc::Engine&)> numbers;
  if (num_numbers > 0) numbers = [&](mpc::Engine& e) { return NumbersOf(e, task, fit); };
  const mpc::ErrorsOnGrid told =
      mpc::OnErrorGrid(engine, fit.variances, nullptr, MostNumber(task, fit), task.grid_bits,
                       fit.converged, estimates ? &fit.estimates : nullptr, numbers,
                       task.spec.covariance ? &fit.covariances : nullptr);

  std::vector<mpc::Shared> opened = {told.opens, totals.rows};
  if (task.spec.law.binary) opened.push_back(totals.events);
  if (task.spec.clustered()) opened.push_back(totals.clusters);
  const size_t next = opened.size();
  opened.insert(opened.end(),
                {told.reached, task.spec.covariance ? told.covariances : told.errors});
  if (estimates) opened.push_back(told.estimates);
  if (num_numbers > 0) opened.push_back(told.totals);
  const std::vector<mpc::IntMatrix> values =
      engine.Reveal(task.prefix + kFitRelease, opened, task.to);
  if (values.front().values.empty()) return {};
  const auto count = [&](size_t place) {
    return static_cast<uint64_t>(values[place].values.front());
  };
  ToldFit made;
  FittedModel& model = made.model;
  model.converged = values[0].values.front() != 0;
  model.rows = count(1);
  if (task.spec.law.binary) model.events = count(2);
  if (task.spec.clustered()) model.clusters = count(next - 1);
  const std::vector<double> steps = mpc::GridSteps(told.range, values[next]);
  model.steps = AsVector(steps);
  if (task.spec.covariance) {
    TakeCovariances(mpc::InSquaredSteps(values[next + 1], steps), model);
  } else {
    model.standard_errors = AsVector(mpc::InGridSteps(values[next + 1], steps));
  }
  RequirePossible(task, values[0], model);
  if (estimates) made.estimates = AsVector(mpc::InGridSteps(values[next + 2], steps));
  for (size_t i = 0; i < num_numbers; ++i) {
    const double number =
        std::ldexp(mpc::DecodeFixed(values.back().values[i], mpc::kGuardBits), -task.grid_bits);
    (i < num_totals       ? model.totals
     : i < num_statistics ? model.statistics
                          : model.risk)
        .push_back(number);
  }
  if (!model.risk.empty() && model.risk[0] != 0 && model.risk[0] != 1)
    throw mpc::NoSuchOpening("whether risk groups are told is no bit");
  return made;
}

}  // namespace partita::methods::glm
