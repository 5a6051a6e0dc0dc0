#include "methods/mle/sealed/scalars.h"

#include <algorithm>
#include <cstddef>

#include "methods/mle/sealed/values.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/reciprocal.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::Shared;

constexpr double kLargestLog = 0x1p12;  // of sums of logarithms
// Of a group's variance in units of the first group's.
constexpr double kSmallestRatio = 0x1p-16;

// Some entries of a column summed; zero for none.
Shared SumOf(Engine& engine, const Shared& column, const std::vector<size_t>& which) {
  if (which.empty()) return Constant(engine, {1, 1}, 0);
  return SumAll(engine, Bounded(engine.SelectRows(column, which), 64), kLargestLog);
}

}  // namespace

std::vector<mpc::DefiniteMatrix> MatricesOfScalars(const SealedProblem& problem) {
  std::vector<mpc::DefiniteMatrix> matrices;
  for (const Shared& scaled : problem.scaled)
    matrices.push_back({Bounded(scaled, kLargestCorrelation), kSmallestPivot});
  const std::vector<size_t>& covariates = problem.model.covariates;
  for (size_t s = 0; !covariates.empty() && s < problem.scaled.size(); ++s) {
    const Shared among = SelectBoth(problem.engine, problem.scaled[s], covariates);
    matrices.push_back({Bounded(among, kLargestCorrelation), kSmallestPivot});
  }
  return matrices;
}

Shared ScalarsAt(const SealedProblem& problem, const SealedPoint& at,
                 const std::vector<Shared>& log_dets) {
  Engine& engine = problem.engine;
  const size_t p = problem.observed();
  std::vector<size_t> all, others;
  for (size_t j = 0; j < p; ++j) {
    all.push_back(j);
    const auto& covariates = problem.model.covariates;
    if (std::find(covariates.begin(), covariates.end(), j) == covariates.end()) others.push_back(j);
  }
  const auto after_whole = log_dets.begin() + static_cast<std::ptrdiff_t>(problem.samples.size());
  const std::vector<Shared> whole(log_dets.begin(), after_whole);
  std::vector<Shared> among(after_whole, log_dets.end());
  if (among.empty()) among.assign(whole.size(), Constant(engine, {1, 1}, 0));

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

  // F less what the saturated model has.
  Shared chisq = Minus(engine, at.value, sums[0], 16 * kWorst);
  chisq = mpc::PlusConstant(engine, chisq, -static_cast<double>(p), 16 * kWorst);
  const Shared baseline = Minus(engine, sums[2], sums[0], 16 * kLargestLog);
  const bool given = problem.model.table.fixed_x;
  Shared saturated =
      Plus(engine, sums[0], SumOf(engine, logs[0], given ? others : all), 16 * kLargestLog);
  if (given) saturated = Minus(engine, saturated, sums[1], 16 * kLargestLog);
  std::vector<Shared> scalars = {chisq, baseline, saturated};
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
