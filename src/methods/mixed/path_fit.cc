#include "methods/mixed/path_fit.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "mpc/functions/arithmetic.h"

namespace partita::methods::mixed {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

// What is beyond the bound is cut, and counts.
std::vector<Int128> Encoded(const VectorXd& values, double most, int fraction_bits,
                            uint64_t& beyond) {
  std::vector<Int128> encoded;
  for (const double value : values) {
    const bool inside = std::abs(value) <= most;
    if (!inside) ++beyond;
    encoded.push_back(mpc::EncodeFixed(inside              ? value
                                       : std::isnan(value) ? 0
                                                           : std::clamp(value, -most, most),
                                       fraction_bits));
  }
  return encoded;
}

}  // namespace

Stage StageOf(const Task& task, int point) {
  if (point == 0) return Stage::kOwnFits;
  if (point == 1 && !task.spec.slope) return Stage::kHeld;
  return point + 1 < task.spec.steps ? Stage::kScoring : Stage::kNewton;
}

int LaterGridBits(const Task& task) { return std::max(kPathGridBits, task.grid_bits - 2); }

int GridBitsOf(const Task& task, int point) {
  if (point == task.spec.steps) return task.grid_bits;
  return point < kCoarsePoints ? kCoarseGridBits : LaterGridBits(task);
}

uint64_t NumOfPoint(const Task& task) { return 2 * task.num_of_point(); }
uint64_t NumOfPathFit(const Task& task) {
  return 3 + 2 * task.num_of_point() - task.num_columns() + task.num_errors() + 1;
}

VectorXd VectorOf(const std::vector<double>& values) {
  return Eigen::Map<const VectorXd>(values.data(), static_cast<Index>(values.size()));
}
std::vector<double> NumbersOf(const VectorXd& vector) {
  return {vector.data(), vector.data() + vector.size()};
}

VectorXd Packed(const MatrixXd& matrix) {
  const Index q = matrix.rows();
  VectorXd packed(q * (q + 1) / 2);
  Index next = 0;
  for (Index i = 0; i < q; ++i) {
    for (Index j = i; j < q; ++j) packed[next++] = matrix(i, j);
  }
  return packed;
}

bool HoldsRows(const Engine& engine, const Task& task) {
  const std::optional<mpc::PartyIndex> self = engine.self();
  return self && std::any_of(task.holders.begin(), task.holders.end(),
                             [&](const run::RowHolder& h) { return h.party == self; });
}

Shared ShareSums(Engine& engine, const Task& task, std::vector<OwnSum> sums, uint64_t outside) {
  std::vector<std::vector<Int128>> encoded(sums.size() + 1);
  for (const run::RowHolder& holder : task.holders) {
    if (engine.self() != holder.party) continue;
    const auto rows = static_cast<double>(holder.max_rows);
    for (size_t k = 0; k < sums.size(); ++k)
      encoded[k] = Encoded(sums[k].values, sums[k].most * rows, sums[k].fraction_bits, outside);
    encoded.back() = {static_cast<Int128>(std::min(outside, holder.max_rows))};
  }
  Shared beyond;
  sums.push_back({{1, 1}, 0, 1, {}, &beyond});
  std::vector<mpc::PrivateMatrix> inputs;
  for (const run::RowHolder& holder : task.holders) {
    for (size_t k = 0; k < sums.size(); ++k) {
      inputs.push_back(run::SumsOfHolder(engine, holder, sums[k].shape, sums[k].fraction_bits,
                                         sums[k].most, encoded[k]));
    }
  }
  const std::vector<Shared> shared = engine.Input(inputs);
  const auto most_rows = static_cast<double>(task.max_rows());
  for (size_t k = 0; k < sums.size(); ++k) {
    Shared sum = shared[k];
    for (size_t h = 1; h < task.holders.size(); ++h)
      sum = engine.Add(sum, shared[h * sums.size() + k]);
    *sums[k].sum = WithBound(sum, sums[k].most * most_rows);
  }
  return beyond;
}

std::vector<size_t> OpenCollinear(Engine& engine, const Task& task, const mpc::SolvedStep& solved) {
  const std::vector<Shared> flags = {engine.Slice(solved.collinear, 0, 0, {task.num_columns(), 1})};
  const mpc::IntMatrix opened = engine.Reveal(kIndependenceRelease, flags, mpc::kEverybody).front();
  std::vector<size_t> collinear;
  for (size_t c = 0; c < opened.values.size(); ++c) {
    if (opened.values[c] != 0) collinear.push_back(c);
  }
  return collinear;
}

void OpenFit(Engine& engine, const Task& task, const SharedTotals& totals,
             const mpc::ErrorsOnGrid& told, PathFitted& fitted) {
  std::vector<Shared> opened = {told.opens,   totals.rows, totals.groups,
                                told.reached, told.errors, told.totals};
  if (task.spec.covariance) opened.push_back(told.covariances);
  const std::vector<mpc::IntMatrix> values = engine.Reveal(kFitRelease, opened, task.to);
  if (values.front().values.empty()) return;
  PathModel model;
  model.converged = values[0].values.front() != 0;
  model.rows = static_cast<uint64_t>(values[1].values.front());
  model.groups = static_cast<uint64_t>(values[2].values.front());
  const std::vector<double> steps = mpc::GridSteps(told.range, values[3]);
  const size_t pairs = task.spec.covariance ? task.num_columns() : 0;
  const std::span<const double> of_pairs = std::span(steps).first(pairs),
                                of_others = std::span(steps).subspan(pairs);
  const VectorXd errors = VectorOf(mpc::InGridSteps(values[4], of_others));
  model.standard_errors = errors;
  if (task.spec.covariance) {
    const auto p = static_cast<Index>(pairs);
    const std::vector<double> by_rows = mpc::InSquaredSteps(values[6], of_pairs);
    model.covariance = Eigen::Map<const MatrixXd>(by_rows.data(), p, p);
    model.covariance_steps = VectorOf({of_pairs.begin(), of_pairs.end()});
    model.standard_errors.resize(p + errors.size());
    if (!mpc::HasVariances(by_rows, pairs)) model.converged = false;
    model.standard_errors << model.covariance.diagonal().cwiseMax(0).cwiseSqrt(), errors;
  }
  model.log_likelihood =
      std::ldexp(mpc::DecodeFixed(values[5].values.front(), mpc::kGuardBits), -task.grid_bits);
  fitted.model = std::move(model);
}

}  // namespace partita::methods::mixed
