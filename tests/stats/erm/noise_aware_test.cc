#include "stats/erm/noise_aware.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <random>

#include "base/error.h"
#include "tests/stats/erm/in_the_clear.h"
#include "tests/stats/erm/reference.h"

namespace partita::stats::erm::noise_aware_test {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Without noise, at the maximum, the intervals are those of maximum likelihood.
TEST(NoiseAware, WithoutNoiseItIsMaximumLikelihood) {
  const LabelledRows rows = testing::SmallTable();
  const Objective objective;
  const VectorXd w = Minimize(rows, objective).w;
  const auto result = NoiseAwareIntervals(w, SumsAt(rows, w), 0.9);
  ASSERT_TRUE(result);
  EXPECT_LT((result->estimate - w).norm(), 1e-9);
  EXPECT_LT((result->covariance - Covariance(rows, objective, w)).norm(), 1e-9);
  const double z = boost::math::quantile(boost::math::normal(), 0.95);
  for (Eigen::Index j = 0; j < 3; ++j) {
    EXPECT_NEAR(result->upper(j) - w(j), z * std::sqrt(result->covariance(j, j)), 1e-9);
  }
  EXPECT_LT(result->step, 1e-9);
}

// From elsewhere one step comes close: its error is of second order.
TEST(NoiseAware, OneStepRemovesTheBiasOfAPenalty) {
  const LabelledRows rows = testing::SmallTable();
  Objective objective;
  const VectorXd exact = Minimize(rows, objective).w;
  objective.lambda = 0.01;
  const VectorXd penalised = Minimize(rows, objective).w;
  const auto result = NoiseAwareIntervals(penalised, SumsAt(rows, penalised), 0.95);
  ASSERT_TRUE(result);
  EXPECT_LT((result->estimate - exact).norm(), 0.25 * (penalised - exact).norm());
}

// The covariance of the step under the noise of both sums, against draws of that noise: 20000
// draws, each entry within 6 standard errors of its own (2e-9 each).
TEST(NoiseAware, CoversTheNoiseOfGradientAndCurvature) {
  const VectorXd w = Eigen::Vector2d(0.3, -0.2);
  NewtonSums sums;
  sums.hessian = (MatrixXd(2, 2) << 900, 150, 150, 500).finished();
  sums.gradient = Eigen::Vector2d(-600, 200);  // a step of about one
  sums.gradient_stddev = 20;
  sums.hessian_stddev = 6;
  const auto result = NoiseAwareIntervals(w, sums, 0.95);
  ASSERT_TRUE(result);
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  constexpr int kDraws = 20000;
  std::vector<VectorXd> estimates;
  VectorXd mean = VectorXd::Zero(2);
  for (int draw = 0; draw < kDraws; ++draw) {
    NewtonSums noisy = sums;
    for (double& entry : noisy.gradient) entry += sums.gradient_stddev * normal(random);
    noisy.hessian(0, 0) += sums.hessian_stddev * normal(random);
    noisy.hessian(1, 1) += sums.hessian_stddev * normal(random);
    noisy.hessian(0, 1) += sums.hessian_stddev / std::sqrt(2.0) * normal(random);
    noisy.hessian(1, 0) = noisy.hessian(0, 1);
    estimates.push_back(w - noisy.hessian.ldlt().solve(noisy.gradient));
    mean += estimates.back() / kDraws;
  }
  MatrixXd spread = MatrixXd::Zero(2, 2);
  for (const VectorXd& estimate : estimates) {
    spread += (estimate - mean) * (estimate - mean).transpose() / kDraws;
  }
  // What is not the noise is the sampling of rows: the inverse of H.
  const MatrixXd noise = result->covariance - sums.hessian.inverse();
  for (Eigen::Index j = 0; j < 2; ++j) {
    EXPECT_NEAR(spread(j, j) / noise(j, j), 1, 6 * std::sqrt(2.0 / kDraws) + 0.01);
  }
  const double scale = std::sqrt(noise(0, 0) * noise(1, 1));
  EXPECT_NEAR(spread(0, 1) / scale, noise(0, 1) / scale, 6 / std::sqrt(kDraws) + 0.01);
}

TEST(NoiseAware, NoIntervalsWhereTheNoiseHidesTheCurvature) {
  NewtonSums sums;
  sums.gradient = VectorXd::Zero(2);
  sums.hessian = 10 * MatrixXd::Identity(2, 2);
  sums.hessian_stddev = 1.7;  // 4 sqrt(2) 1.7 = 9.6
  EXPECT_TRUE(NoiseAwareIntervals(VectorXd::Zero(2), sums, 0.95));
  sums.hessian_stddev = 1.8;
  EXPECT_FALSE(NoiseAwareIntervals(VectorXd::Zero(2), sums, 0.95));
  EXPECT_THROW(NoiseAwareIntervals(VectorXd::Zero(3), sums, 0.95), Error);
  EXPECT_THROW(NoiseAwareIntervals(VectorXd::Zero(2), sums, 1), Error);
}

}  // namespace
}  // namespace partita::stats::erm::noise_aware_test
