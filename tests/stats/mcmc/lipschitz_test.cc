// Chains of short steps: no row moves a decision by more than is said, and the posterior stays.
#include "stats/mcmc/lipschitz.h"

#include <gtest/gtest.h>

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <random>

#include "base/error.h"
#include "stats/mcmc/chains.h"
#include "stats/mcmc/diagnostics.h"
#include "tests/stats/blr/random.h"

namespace partita::stats::mcmc::lipschitz_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using privacy::Adjacency;

struct Rows {
  MatrixXd x;
  VectorXd y;
};

// Values up to the bounds, and at them.
Rows MakeRows(Index n, const VectorXd& reach, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Rows rows{MatrixXd(n, reach.size()), VectorXd(n)};
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < reach.size(); ++j) {
      const double u = uniform(random);
      rows.x(i, j) = reach(j) * (i % 3 == 0 ? (u > 0 ? 1 : -1) : u);
    }
    rows.y(i) = random() % 2 == 0 ? 0 : 1;
  }
  return rows;
}

TargetPtr TargetOf(const Rows& rows, const VectorXd& start, const VectorXd& reach) {
  return LipschitzTarget(LogisticTarget(rows.x, rows.y), start, reach);
}

// Steps of length L from near and far, along the direction that moves a row at the bounds most:
// with a row more the difference moves by no more than stated, and by nearly as much where the
// logistic function is flat.
TEST(Lipschitz, NoRowMovesADecisionByMoreThanStated) {
  const VectorXd reach{{1, 3, 0.5}}, start = VectorXd::Zero(3);
  const double longest = 0.05, stated = LipschitzSensitivity(longest, Adjacency::kAddRemove);
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  double most = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Rows rows = MakeRows(30, reach, static_cast<uint64_t>(trial));
    const Rows fewer{rows.x.bottomRows(29), rows.y.tail(29)};
    const TargetPtr more = TargetOf(rows, start, reach), less = TargetOf(fewer, start, reach);
    MatrixXd step(3, 1), from(3, 1);
    for (double& value : step.reshaped()) value = normal(random);
    for (double& value : from.reshaped()) value = (trial % 2 == 0 ? 0.3 : 30) * normal(random);
    if (trial % 4 < 2) step = rows.x.row(0).cwiseSign().transpose() * 5;
    Shorten(reach, longest, step);
    EXPECT_LE(ReachOf(step, reach)(0), longest * (1 + 1e-15));
    const MatrixXd to = from + step;
    const double moved = std::abs((more->LogLikelihood(to) - more->LogLikelihood(from))(0) -
                                  (less->LogLikelihood(to) - less->LogLikelihood(from))(0));
    EXPECT_LE(moved, stated);
    most = std::max(most, moved);
  }
  EXPECT_GT(most, 0.99 * longest);
  EXPECT_EQ(LipschitzSensitivity(longest, Adjacency::kReplace), 2 * stated);
}

// The same of the differences that enter decisions, for tables longer than what a bound of rounded
// sums would have to stop at: far from the start, with sums so large that their doubles are coarser
// than what is allowed for rounding.
TEST(Lipschitz, HoldsForTablesOfAnyLength) {
  const VectorXd reach{{1}}, start{{0}};
  const double longest = 1e-4, stated = LipschitzSensitivity(longest, Adjacency::kAddRemove);
  const Index n = (Index{1} << 18) + 1;
  Rows rows{MatrixXd::Constant(n, 1, -1), VectorXd::Ones(n)};
  rows.x(0, 0) = 1;
  rows.y(0) = 0;
  const Rows fewer{rows.x.bottomRows(n - 1), rows.y.tail(n - 1)};
  const TargetPtr more = TargetOf(rows, start, reach), less = TargetOf(fewer, start, reach);
  double most = 0;
  for (int trial = 1; trial <= 20; ++trial) {
    const MatrixXd from = MatrixXd::Constant(1, 1, 1000.0 / trial);
    const MatrixXd step = MatrixXd::Constant(1, 1, longest);
    Differences with(*more), without(*less);
    const double moved = with.Of(from, {step})(0, 0) - without.Of(from, {step})(0, 0);
    EXPECT_LE(std::abs(moved), stated);
    EXPECT_LE(std::abs(with.Of(from, {step})(0, 0) + static_cast<double>(n) * longest), 0.01);
    most = std::max(most, std::abs(moved));
  }
  EXPECT_GT(most, 0.999 * longest);
}

TEST(Lipschitz, StepsAreShortenedAlikeInBothDirections) {
  const VectorXd reach{{2, 1}};
  MatrixXd steps{{3, -3, 0.1, 0}, {4, -4, 0.2, 0}};
  Shorten(reach, 1, steps);
  EXPECT_EQ(steps.col(0), -steps.col(1));
  EXPECT_NEAR(steps(0, 0), 0.3, 1e-15);
  EXPECT_EQ(steps(0, 2), 0.1);
  EXPECT_EQ(steps.col(3), VectorXd::Zero(2));
}

// The value is the log likelihood less that at the start, to the grid.
TEST(Lipschitz, IsTheLikelihood) {
  const VectorXd reach{{1, 1}}, start{{0.5, -0.25}};
  const Rows rows = MakeRows(200, reach, 9);
  const TargetPtr plain = LogisticTarget(rows.x, rows.y), bounded = TargetOf(rows, start, reach);
  const MatrixXd thetas{{0.5, 3, -700}, {-0.25, -2, 900}};
  const VectorXd expected = plain->LogLikelihood(thetas).array() - plain->LogLikelihood(start)(0);
  EXPECT_EQ(bounded->LogLikelihood(thetas)(0), 0);
  EXPECT_NEAR(bounded->LogLikelihood(thetas)(1), expected(1), 200 * 0x1p-40 + 1e-11);
  EXPECT_EQ(bounded->LogLikelihood(thetas)(2), -HUGE_VAL);  // beyond kFarthest
  EXPECT_THROW(TargetOf(rows, VectorXd::Zero(3), reach), Error);
  EXPECT_THROW(TargetOf(rows, start, VectorXd::Ones(3)), Error);
}

// One coefficient against its posterior by numerical integration: mean and spread within 5.1
// Monte Carlo standard errors, two comparisons: a false alarm below 1e-6. Most steps are shortened.
TEST(Lipschitz, LeavesThePosteriorAsItIs) {
  const VectorXd reach{{1}}, start{{0}};
  const Rows rows = MakeRows(25, reach, 12);
  const TargetPtr target = TargetOf(rows, start, reach);
  const Prior prior = ParsePrior("normal(0, 2.5)");
  double mass = 0, mean = 0, square = 0;
  for (double theta = -15; theta <= 15; theta += 0.001) {
    const double density = std::exp(target->LogLikelihood(MatrixXd::Constant(1, 1, theta))(0) +
                                    LogPrior(prior, theta));
    mass += density;
    mean += theta * density;
    square += theta * theta * density;
  }
  mean /= mass;
  const double variance = square / mass - mean * mean;
  blr::TestRandom common(41), secret(42);
  PlainDecisions decisions({target.get()}, {prior}, Acceptance::kBarker, secret);
  ChainOptions options;
  options.chains = 8;
  options.warmup = 2000;
  options.draws = 4000;
  options.thin = 20;
  options.longest = 0.4;
  options.reach = reach;
  SilentProgress progress;
  Draws draws = RunChains(MatrixXd::Zero(1, 8), options, std::ref(decisions), common, progress);
  const double z = boost::math::quantile(boost::math::complement(boost::math::normal(), 2e-7));
  const ParameterSummary of_mean = Summarise(draws).front();
  EXPECT_NEAR(of_mean.mean, mean, z * of_mean.mcse_mean);
  EXPECT_LT(of_mean.mcse_mean, 0.05 * std::sqrt(variance));
  for (MatrixXd& chain : draws.chains) chain = (chain.array() - mean).square();
  const ParameterSummary of_square = Summarise(draws).front();
  EXPECT_NEAR(of_square.mean, variance, z * of_square.mcse_mean);
  EXPECT_GT(draws.acceptance_rate, 0.3);  // steps as long as the scale would have them: 0.16
}

}  // namespace
}  // namespace partita::stats::mcmc::lipschitz_test
