#include "methods/mle/sealed/scalars.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "methods/mle/sealed/values.h"
#include "methods/mle/sealed/within_limit.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/reciprocal.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::Shared;

constexpr double kLargestLog = 0x1p12;  // of sums of logarithms
// Of a group's variance in units of the first group's.
constexpr double kSmallestRatio = 0x1p-16;

Shared SumOfAll(Engine& engine, const std::vector<Shared>& counts) {
  Shared sum = counts.front();
  for (size_t i = 1; i < counts.size(); ++i) sum = engine.Add(sum, counts[i]);
  return sum;
}

// Some entries of a column summed; zero for none.
Shared SumOf(Engine& engine, const Shared& column, const std::vector<size_t>& which) {
  if (which.empty()) return Constant(engine, {1, 1}, 0);
  return SumAll(engine, Bounded(engine.SelectRows(column, which), 64), kLargestLog);
}

// Logarithms of determinants of the covariances, and of those of the covariates, by sample.
std::pair<std::vector<Shared>, std::vector<Shared>> LogDeterminants(const SealedProblem& problem) {
  Engine& engine = problem.engine;
  std::vector<mpc::DefiniteMatrix> matrices;
  for (const Shared& scaled : problem.scaled)
    matrices.push_back({Bounded(scaled, kLargestCorrelation), kSmallestPivot});
  const std::vector<size_t>& covariates = problem.model.covariates;
  for (size_t s = 0; !covariates.empty() && s < problem.scaled.size(); ++s) {
    const Shared among = SelectBoth(engine, problem.scaled[s], covariates);
    matrices.push_back({Bounded(among, kLargestCorrelation), kSmallestPivot});
  }
  std::vector<mpc::Pivots> pivots;
  for (const mpc::DefiniteFactor& factor : mpc::FactorDefinite(engine, matrices))
    pivots.push_back({factor.pivots, kSmallestPivot});
  const std::vector<Shared> logs = mpc::LogDeterminant(engine, pivots, kSealedBits);
  const auto after_whole = logs.begin() + static_cast<std::ptrdiff_t>(problem.scaled.size());
  std::vector<Shared> among(after_whole, logs.end());
  if (among.empty()) among.assign(problem.scaled.size(), Constant(engine, {1, 1}, 0));
  return {{logs.begin(), after_whole}, among};
}

}  // namespace

SampleScalars SampleScalarsOf(const SealedProblem& problem) {
  Engine& engine = problem.engine;
  std::vector<size_t> all, others;
  for (size_t j = 0; j < problem.observed(); ++j) {
    all.push_back(j);
    const auto& covariates = problem.model.covariates;
    if (std::find(covariates.begin(), covariates.end(), j) == covariates.end()) others.push_back(j);
  }
  const auto [whole, among] = LogDeterminants(problem);

  // Logarithms of the variances: the first group's own, and every group's in units of them.
  std::vector<mpc::PositiveValue> variances = {
      {Bounded(Diagonal(engine, problem.samples.front().covariance), 1), kSmallestVariance}};
  for (const Shared& scaled : problem.scaled) {
    variances.push_back({Bounded(Diagonal(engine, scaled), kLargestCorrelation), kSmallestRatio});
  }
  const std::vector<Shared> logs = mpc::Log(engine, variances, kSealedBits);
  std::vector<Shared> apart;  // log|.| where the others correlate with nothing
  for (size_t g = 0; g < problem.samples.size(); ++g) {
    apart.push_back(Plus(engine, SumOf(engine, logs[g + 1], others), among[g], 4 * kLargestLog));
  }
  const std::vector<Shared> sums = OverSamples(problem, {whole, among, apart}, 4 * kLargestLog);

  const bool given = problem.model.table.fixed_x;
  Shared saturated =
      Plus(engine, sums[0], SumOf(engine, logs[0], given ? others : all), 16 * kLargestLog);
  if (given) saturated = Minus(engine, saturated, sums[1], 16 * kLargestLog);
  return {sums[0], Minus(engine, sums[2], sums[0], 16 * kLargestLog), saturated};
}

LastPivots PivotsAt(const SealedProblem& problem, const SealedPoint& at) {
  Engine& engine = problem.engine;
  std::vector<Shared> kept;
  for (const GroupAt& group : at.groups) kept.push_back(Bounded(group.r));
  std::vector<Shared*> guarded;
  for (Shared& matrix : kept) guarded.push_back(&matrix);
  std::vector<Shared> faults = KeepWithin(engine, guarded, kLargestCorrelation);
  std::vector<mpc::DefiniteMatrix> matrices;
  for (const SealedSample& sample : problem.samples)
    matrices.push_back({kept[sample.group], kSmallestPivot});
  LastPivots result;
  for (const mpc::DefiniteFactor& factor : mpc::FactorDefinite(engine, matrices)) {
    result.pivots.push_back({factor.pivots, kSmallestPivot});
    faults.push_back(
        SumAll(engine, factor.collinear, static_cast<double>(factor.collinear.shape.size())));
  }
  result.faults = SumOfAll(engine, faults);
  return result;
}

std::vector<Shared> TracesAt(const SealedProblem& problem, const SealedPoint& at) {
  Engine& engine = problem.engine;
  std::vector<Shared> traces(problem.samples.size());
  Products products(engine);
  for (size_t s = 0; s < traces.size(); ++s) {
    const SampleAt& sample = at.samples[s];
    products.Elementwise(SecondMoment(problem, sample, s), sample.inverse, traces[s], kWorst / 64);
  }
  products.Run();
  for (Shared& trace : traces) trace = SumAll(engine, trace, kWorst / 4);
  return traces;
}

Shared DiscrepancyOf(const SealedProblem& problem, const LastPivots& pivots,
                     const std::vector<Shared>& traces) {
  std::vector<Shared> values = mpc::LogDeterminant(problem.engine, pivots.pivots, kSealedBits);
  for (size_t s = 0; s < values.size(); ++s)
    values[s] = Plus(problem.engine, traces[s], values[s], kWorst / 2);
  return OverSamples(problem, {values}, kWorst / 2).front();
}

Shared ScalarsOf(const SealedProblem& problem, const SampleScalars& sample,
                 const Shared& discrepancy, const Shared& good) {
  Engine& engine = problem.engine;
  const Shared worst = Constant(engine, {1, 1}, kWorst);
  Shared value;
  mpc::ProductRound round(engine);
  round.Add(good, Minus(engine, discrepancy, worst, 4 * kWorst), 4 * kWorst, value);
  round.Run();
  value = Plus(engine, value, worst, 8 * kWorst);
  // F less what the saturated model has.
  Shared chisq = Minus(engine, value, sample.log_det, 16 * kWorst);
  chisq = mpc::PlusConstant(engine, chisq, -static_cast<double>(problem.observed()), 16 * kWorst);
  std::vector<Shared> scalars = {chisq, sample.baseline_chisq, sample.saturated};
  for (Shared& scalar : scalars) scalar.bound = 16 * kWorst;
  return engine.Concatenate(scalars, true);
}

Shared DeviationsAt(const SealedProblem& problem, const SealedSlope& slope) {
  Engine& engine = problem.engine;
  const mpc::PositiveValue inflation{Bounded(slope.inflation, 1 / kSmallestScaledPivot),
                                     slope.smallest_inflation};
  const Shared root = mpc::Root(engine, std::span(&inflation, 1), kSealedBits).front();
  Shared deviations;
  Products products(engine);
  products.Elementwise(root, slope.scale, deviations);
  products.Run();
  return deviations;
}

}  // namespace partita::methods::mle
