// Covariances rounded on shares against the same in the clear: whole multiples of the products of two
// grids, on every engine, with exactly the messages of the plan.
#include "mpc/functions/covariance_grid.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/scoring_path.h"
#include "privacy/release_rule.h"
#include "tests/mpc/harness.h"

namespace partita::mpc::covariance_grid_test {
namespace {

Shared Input(Engine& engine, const Eigen::MatrixXd& numbers, double bound, int bits) {
  IntMatrix integers{{static_cast<size_t>(numbers.rows()), static_cast<size_t>(numbers.cols())},
                     {}};
  for (Eigen::Index i = 0; i < numbers.rows(); ++i) {
    for (Eigen::Index j = 0; j < numbers.cols(); ++j)
      integers.values.push_back(EncodeFixed(numbers(i, j), bits));
  }
  const PrivateMatrix matrix = testing::Private(engine, 1, integers, bound, bits);
  return engine.Input({&matrix, 1}).front();
}

// Standard errors from 2^low_bits to 2^5, with correlations of every size, one of nearly 1.
Eigen::MatrixXd Draw(uint64_t seed, Eigen::Index p, double low_bits) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> bits(low_bits, 5);
  Eigen::MatrixXd factor(p, p + 1);
  for (double& value : factor.reshaped()) value = normal(random);
  factor.row(p - 1) = factor.row(0) + 0.001 * factor.row(p - 1);
  const Eigen::MatrixXd gram = factor * factor.transpose();
  Eigen::VectorXd scale = gram.diagonal().cwiseSqrt().cwiseInverse();
  for (double& value : scale) value *= std::exp2(bits(random));
  return scale.asDiagonal() * gram * scale.asDiagonal();
}

struct Opened {
  std::vector<double> steps, covariances;  // by rows
};

// With `opens` of 0 or 1.
Opened OpenOn(const std::string& kind, size_t parties, const Eigen::MatrixXd& covariance,
              int grid_bits, double opens = 1) {
  Opened opened;
  testing::RunOptions options;
  options.kind = kind;
  options.num_parties = parties;
  const auto run = testing::RunAndComparePlan(options, [&](Engine& engine, size_t) {
    const Eigen::VectorXd halves = covariance.diagonal() / 2;
    const Shared shared = Input(engine, covariance, 2 * kMostVariance, kCovarianceBits);
    const Shared variances = Input(engine, halves, kMostVariance, 50);
    const Shared bit = Input(engine, Eigen::MatrixXd::Constant(1, 1, opens), 1, 0);
    const ErrorsOnGrid told = OnErrorGrid(
        engine, variances, nullptr, 0, grid_bits, [&](Engine&) { return bit; }, nullptr, {},
        &shared);
    EXPECT_EQ(told.errors.payload, nullptr);
    const std::vector<Shared> all = {told.reached, told.covariances};
    const std::vector<IntMatrix> values = engine.Reveal("out", all, kEverybody);
    if (!engine.self() || *engine.self() != 0) return;
    const auto p = static_cast<size_t>(covariance.rows());
    EXPECT_EQ(values[1].values.size(), NumCovariances(p));
    for (const Int128 value : values[1].values) {
      // Whole multiples, of as many bits as are counted.
      EXPECT_EQ(value % (Int128{1} << kGuardBits), 0);
      EXPECT_LE(std::abs(DecodeFixed(value, kGuardBits)),
                std::exp2(CovarianceNumberBits(grid_bits) - 1));
    }
    opened.steps = GridSteps(told.range, values[0]);
    opened.covariances = InSquaredSteps(values[1], opened.steps);
  });
  run.ThrowIfFailed();
  return opened;
}

void ExpectRounded(const Eigen::MatrixXd& covariance, int grid_bits, const std::string& kind,
                   size_t parties) {
  SCOPED_TRACE(kind);
  const Opened opened = OpenOn(kind, parties, covariance, grid_bits);
  const auto p = static_cast<size_t>(covariance.rows());
  ASSERT_EQ(opened.covariances.size(), p * p);
  for (size_t i = 0; i < p; ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const double error = std::sqrt(covariance(row, row));
    EXPECT_EQ(std::ilogb(opened.steps[i]), privacy::GridExponent(error, grid_bits)) << i;
    for (size_t j = 0; j < p; ++j) {
      const double step = opened.steps[i] * opened.steps[j];
      EXPECT_LE(
          std::abs(opened.covariances[i * p + j] - covariance(row, static_cast<Eigen::Index>(j))),
          (0.5 + 0x1p-9) * step)
          << i << " " << j;
    }
  }
}

TEST(CovarianceGrid, RoundsAsInTheClear) {
  for (const int grid_bits : {4, 5, 6}) ExpectRounded(Draw(1, 6, -9), grid_bits, "dealer", 2);
  ExpectRounded(Draw(2, 5, -12), 6, "replicated", 3);
  ExpectRounded(Draw(3, 4, -10), 6, "shamir", 3);
  ExpectRounded(Draw(4, 3, -8), 6, "ot", 2);
  ExpectRounded(Draw(5, 1, -14), 6, "dealer", 3);
}

TEST(CovarianceGrid, OpensZerosOfAFitThatDidNotConverge) {
  const Opened opened = OpenOn("replicated", 3, Draw(6, 4, -6), 6, 0);
  for (const double value : opened.steps) EXPECT_EQ(value, 0);
  for (const double value : opened.covariances) EXPECT_EQ(value, 0);
}

// Whoever has the numbers has both grids.
TEST(CovarianceGrid, RefusesANumberWithoutItsGrid) {
  const IntMatrix numbers{{3, 1}, {Int128{1} << 20, Int128{1} << 12, Int128{1} << 20}};
  EXPECT_THROW(InSquaredSteps(numbers, std::vector<double>{1, 0}), Error);
  EXPECT_EQ(InSquaredSteps(numbers, std::vector<double>{0.5, 2}),
            (std::vector<double>{256, 4, 4, 4096}));
}

// Of a few last places the grid is that of one cut and the variance that of another: no fit, and nobody's fault.
TEST(CovarianceGrid, AVarianceThatIsNotAboveZeroIsNone) {
  const IntMatrix negative{{1, 1}, {-(Int128{1} << 20)}}, zero{{1, 1}, {0}};
  for (const double step : {0.0, 1.0})
    EXPECT_FALSE(HasVariances(InSquaredSteps(zero, std::vector<double>{step}), 1));
  EXPECT_FALSE(HasVariances(InSquaredSteps(negative, std::vector<double>{1}), 1));
  const IntMatrix numbers{{3, 1}, {Int128{1} << 20, Int128{1} << 12, 0}};
  EXPECT_FALSE(HasVariances(InSquaredSteps(numbers, std::vector<double>{1, 1}), 2));
  EXPECT_TRUE(HasVariances(std::vector<double>{1, -2, -2, 3}, 2));
}

}  // namespace
}  // namespace partita::mpc::covariance_grid_test
