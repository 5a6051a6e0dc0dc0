#include "methods/meta/pooling.h"

#include <algorithm>
#include <cmath>

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/division.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/release_grid.h"

namespace partita::methods::meta {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

// Numbers open in eighths of units, so that variances have the bits that grids need.
constexpr int kEighths = 3, kNumberBits = 40, kVarianceBits = 50, kInverseBits = 24;
constexpr double kMostVariance = 8, kLeastVariance = 0x1p-30, kMostError = 4;

}  // namespace

std::optional<OpenedPool> OpenPool(Engine& engine, const Task& task, const SiteEstimate& own,
                                   uint64_t sites, double tau_squared) {
  const double at[] = {tau_squared, 0};
  const SharedSums sums = ShareSums(engine, task, own, at);
  const double most = sums.w.bound;
  const auto first = [&](const Shared& column) { return engine.Slice(column, 0, 0, {1, 1}); };
  const Shared w = first(sums.w), wb = first(sums.wb);
  const double unit = WeightUnit(task.spec, tau_squared), unit_at_zero = WeightUnit(task.spec, 0);
  Shared units = mpc::ConstantLike(engine, w, unit, kSumBits);
  units.bound = kMostVariance;
  // The means with tau^2 and without, the mean square with it, and the variance 1 / sum w.
  const std::vector<mpc::Quotient> quotients = {{sums.wb, {sums.w, kLeastWeight}, 1},
                                                {first(sums.wbb), {w, kLeastWeight}, 1},
                                                {units, {w, kLeastWeight}, kMostVariance}};
  const std::vector<Shared> by = mpc::Divide(engine, quotients, kSumBits);
  const Shared mean = WithBound(first(by[0]), 1),
               mean_at_zero = WithBound(engine.Slice(by[0], 1, 0, {1, 1}), 1);
  Shared square, explained;
  mpc::ProductRound products(engine);
  products.AddCut(mean, mean, 1, kSumBits, square);
  products.AddCut(mean_at_zero, engine.Slice(sums.wb, 1, 0, {1, 1}), most, kSumBits, explained);
  products.Run();

  const Shared normal_variance = WithBound(by[2], kMostVariance);
  Shared variance = normal_variance;
  if (task.spec.hartung_knapp) {
    const Shared spread = WithBound(engine.Subtract(by[1], square), 2);
    variance = WithBound(
        mpc::TimesConstant(engine, spread, 1 / static_cast<double>(sites - 1), kInverseBits), 1);
  }
  Shared q = WithBound(engine.Subtract(engine.Slice(sums.wbb, 1, 0, {1, 1}), explained), 2 * most);
  const double most_q = 2 * most / unit_at_zero;
  q = WithBound(mpc::TimesConstant(engine, q, 1 / unit_at_zero, kInverseBits), most_q);
  Shared estimate = mean,
         half_squares = WithBound(mpc::TimesPowerOfTwo(normal_variance, 2 * kEighths - 1),
                                  std::ldexp(kMostVariance, 2 * kEighths - 1));
  mpc::CutRound cut(engine);
  cut.Add(estimate, kNumberBits, 1);
  cut.Add(half_squares, kVarianceBits, half_squares.bound);
  cut.Add(variance, kVarianceBits, variance.bound);
  cut.Add(q, kNumberBits, most_q);
  cut.Run();
  const std::vector<mpc::PositiveValue> squared = {{variance, kLeastVariance}};
  const Shared error = WithBound(mpc::Root(engine, squared, kNumberBits).front(), kMostError);

  const mpc::GridMarks marks = mpc::MarkErrorGrids(engine, half_squares, task.grid_bits);
  const auto in_eighths = [](const Shared& value) {
    return WithBound(mpc::TimesPowerOfTwo(value, kEighths), std::ldexp(value.bound, kEighths));
  };
  const Shared scaled = in_eighths(estimate), scaled_error = in_eighths(error);
  const std::vector<Shared> rounded = mpc::RoundToGrids(
      engine, {{scaled, scaled.bound, marks}, {scaled_error, scaled_error.bound, marks}}, &q,
      most_q, task.grid_bits);
  const std::vector<Shared> opened = {marks.reached, rounded[0], rounded[1], rounded[2]};
  const std::vector<mpc::IntMatrix> values = engine.Reveal(kPooledRelease, opened, task.to);
  if (values.front().values.empty()) return std::nullopt;
  const double back = std::ldexp(task.spec.unit(), -kEighths);
  const std::vector<double> steps = mpc::GridSteps(marks.range, values[0]);
  OpenedPool pool;
  pool.sites = sites;
  pool.step = steps.front() * back;
  pool.estimate = mpc::InGridSteps(values[1], steps).front() * back;
  // By Hartung and Knapp it may be next to nothing, where sites agree: below half a step, or what has a
  // root here. Then it is told as no less than that.
  pool.standard_error = std::max({mpc::InGridSteps(values[2], steps).front() * back, pool.step / 2,
                                  std::sqrt(kLeastVariance) * task.spec.unit()});
  if (pool.step == 0) throw mpc::NoSuchOpening("the pooled estimate has no grid");
  pool.tau_squared = tau_squared * task.spec.unit() * task.spec.unit();
  pool.q = std::ldexp(mpc::DecodeFixed(values[3].values.front(), mpc::kGuardBits), -task.grid_bits);
  return pool;
}

}  // namespace partita::methods::meta
