// The noise-aware posterior: its intervals contain what they should, and go over into the exact
// posterior where the noise vanishes and into the prior where it covers everything.
#include "stats/blr/noise_aware.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "base/error.h"
#include "tests/stats/blr/coverage.h"
#include "tests/stats/blr/random.h"

namespace partita::stats::blr::noise_aware_test {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

Statistics MakeStatistics() {
  Statistics s;
  s.gram.resize(2, 2);
  s.gram << 60, 20, 20, 50;
  s.cross = s.gram * Eigen::Vector2d(0.6, -0.4) + Eigen::Vector2d(0.3, -0.2);
  s.num_rows = 1000;
  s.target_square = s.cross.dot(s.gram.llt().solve(s.cross)) + 998 * 0.03;
  return s;
}

// With v -> 0 and known lambda and s2 the posterior is the exact one.
TEST(NoiseAwareTest, WithoutNoiseIsTheExactPosterior) {
  const Statistics s = MakeStatistics();
  NoiseAwarePrior prior;
  prior.slope_variance = {0.5, 0.5};
  prior.noise_variance = {0.03, 0.03};
  TestRandom random(1);
  const NoiseAwarePosterior aware = FitNoiseAware(s, 1e-10, false, prior, {}, random);
  const PlainPosterior exact =
      FitPlain(s, {VectorXd::Zero(2), VectorXd::Constant(2, 0.5), 0.03}, Repair::kNone);
  EXPECT_LT((aware.mean - exact.mean).norm(), 1e-5);
  EXPECT_LT((aware.covariance - exact.covariance).norm(), 1e-5 * exact.covariance.norm() + 1e-9);
  const Interval interval = MixtureInterval(aware, Eigen::Vector2d(1, 0), 0.95);
  const Interval expected = NormalInterval(exact.mean(0), std::sqrt(exact.covariance(0, 0)), 0.95);
  EXPECT_NEAR(interval.lower, expected.lower, 1e-5);
  EXPECT_NEAR(interval.upper, expected.upper, 1e-5);
  const Interval predictive = PredictiveInterval(aware, Eigen::Vector2d(0.5, 0.5), 0.95);
  EXPECT_GT(predictive.upper - predictive.lower, 2 * 1.95 * std::sqrt(0.03));
  EXPECT_NEAR(MixtureDistribution(aware, Eigen::Vector2d(1, 0), interval.upper), 0.975, 1e-9);
}

TEST(NoiseAwareTest, UnderAllTheNoiseIsThePrior) {
  Statistics s = MakeStatistics();
  s.gram << -5000, 8000, 8000, 3000;
  s.cross = Eigen::Vector2d(4000, -9000);
  s.target_square = 2000;
  NoiseAwarePrior prior;
  prior.slope_variance = {0.25, 0.25};
  TestRandom random(2);
  const NoiseAwarePosterior aware = FitNoiseAware(s, 1e10, false, prior, {}, random);
  EXPECT_NEAR(aware.mean.norm(), 0, 0.1);
  EXPECT_NEAR(aware.covariance(0, 0), 0.25, 0.05);
}

TEST(NoiseAwareTest, RefusesWhatHasNoMeaning) {
  const Statistics s = MakeStatistics();
  TestRandom random(3);
  EXPECT_THROW(FitNoiseAware(s, 0, false, {}, {}, random), Error);
  EXPECT_THROW(FitNoiseAware(s, std::nan(""), false, {}, {}, random), Error);
  NoiseAwarePrior prior;
  prior.slope_variance = {1, 0.5};
  EXPECT_THROW(FitNoiseAware(s, 1, false, prior, {}, random), Error);
  prior = {};
  prior.slope_weights = VectorXd::Ones(3);
  EXPECT_THROW(FitNoiseAware(s, 1, false, prior, {}, random), Error);
}

// 400 data sets of each of two cells: a true coverage of 0.95 leaves the range with probability
// 1e-6 in either cell together; a coverage of 0.85 is noticed with probability above 0.7 in each.
constexpr size_t kDataSets = 400;
constexpr NoiseAwareOptions kShort = {100, 250, 250};
constexpr CoverageCell kCells[] = {{1000, 3, 1.0}, {10000, 3, 3.0}};

NoiseAwarePosterior Shipped(const Statistics& s, double variance, const NoiseAwarePrior& prior,
                            const NoiseAwareOptions& options, crypto::RandomSource& source) {
  return FitNoiseAware(s, variance, false, prior, options, source);
}

TEST(NoiseAwareTest, IntervalsContainTheCoefficients) {
  const CountRange range = BinomialRange(kDataSets, 0.95, 0.5e-6);
  EXPECT_GT(range.lower, 350u);
  uint64_t seed = 40;
  for (const CoverageCell& cell : kCells) {
    const Coverage coverage = CoverageOfPrior(cell, {}, kDataSets, kShort, Shipped, ++seed);
    EXPECT_GE(coverage.covered, range.lower);
    EXPECT_LE(coverage.covered, range.upper);
    EXPECT_LT(coverage.plain_covered, range.lower);
    EXPECT_GT(coverage.width_ratio, 1);
  }
}

// Planted: an estimator that believes the noise to be a tenth of what it is (its variance a
// hundredth) leaves the range.
TEST(NoiseAwareTest, CoverageNoticesAMistakenNoise) {
  const CountRange range = BinomialRange(kDataSets, 0.95, 0.5e-6);
  const Estimator mistaken = [](const Statistics& s, double variance, const NoiseAwarePrior& prior,
                                const NoiseAwareOptions& options, crypto::RandomSource& source) {
    return FitNoiseAware(s, variance / 100, false, prior, options, source);
  };
  const Coverage coverage = CoverageOfPrior(kCells[1], {}, kDataSets, kShort, mistaken, 50);
  EXPECT_LT(coverage.covered, range.lower);
}

}  // namespace
}  // namespace partita::stats::blr::noise_aware_test
