// Variational inference for logistic regression through the clients and nodes of private sums.
#include "sums/regression/logistic_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "crypto/prg.h"
#include "privacy/sampling/calibrate.h"
#include "stats/erm/minimize.h"

namespace partita::sums::regression::logistic_sums_test {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Data {
  MatrixXd x;
  VectorXd y;
};

Data DrawData(Eigen::Index rows) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Data data{MatrixXd(rows, 2), VectorXd(rows)};
  for (Eigen::Index r = 0; r < rows; ++r) {
    data.x.row(r) << normal(random), normal(random);
    const double logit = 1.5 * data.x(r, 0) - data.x(r, 1);
    data.y(r) = uniform(random) < 1 / (1 + std::exp(-logit)) ? 1 : 0;
  }
  return data;
}

LogisticViOptions Options() {
  LogisticViOptions options;
  options.batch_size = 250;
  options.epochs = 12;
  options.clip_norm = 2;
  options.step = 0.08;
  options.epsilon = 20;
  options.delta = 1e-6;
  return options;
}

TEST(LogisticSumsTest, FindsTheCoefficients) {
  const Data data = DrawData(2000);
  LogisticRound round;
  round.max_drop = 10;
  round.max_collude = 5;
  crypto::SystemRandom random;
  const SimulatedLogistic result = SimulateLogistic(data.x, data.y, Options(), round, random);
  EXPECT_EQ(result.sums, 96U);
  // 2000 rows give a standard error of 0.07; the noise and the optimiser some more.
  EXPECT_NEAR(result.posterior.mean(0), 1.5, 0.5);
  EXPECT_NEAR(result.posterior.mean(1), -1, 0.5);
  // All 250 shares are there, 234 are needed.
  EXPECT_NEAR(result.posterior.noise_stddev,
              std::sqrt(250.0 / 234) * LogisticNoiseStddev(Options()), 1e-6);
}

// DP-SGD and DP-Adam over the same sums, with little noise and a penalty that matters.
TEST(LogisticSumsTest, DescentFindsTheMinimum) {
  const Data data = DrawData(2000);
  LogisticViOptions options = Options();
  options.epsilon = 60;
  options.clip_norm = 5;  // clips nobody
  options.epochs = 12;
  stats::erm::LabelledRows rows{data.x, 2 * data.y.array() - 1};
  stats::erm::Objective objective;
  objective.lambda = 0.5;
  const VectorXd exact = stats::erm::Minimize(rows, objective).w;
  crypto::SystemRandom random;
  for (const auto optimiser : {Optimiser::kSgd, Optimiser::kAdam}) {
    options.step = optimiser == Optimiser::kSgd ? 0.5 : 0.02;
    const SimulatedDescent result =
        SimulateDescent(data.x, data.y, options, optimiser, 0.5, {3, 10, 5}, random);
    EXPECT_EQ(result.sums, 96U);
    // A step's mean gradient has a standard deviation of 0.06 (batches of 250 rows) and 0.01
    // (noise) in each coordinate; over curvatures of 0.6 and the average of 120 steps that is 0.01,
    // and the bound six times as much. Without the penalty the minimum has a norm of 1.8.
    EXPECT_LT((result.coefficients - exact).norm(), 0.09);
    EXPECT_LT(exact.norm(), 0.8);
    EXPECT_EQ(result.statement.rows.size(), 4U);
  }
  options.step = 0;
  EXPECT_THROW(SimulateDescent(data.x, data.y, options, Optimiser::kSgd, 0.5, {3, 10, 5}, random),
               Error);
  options.step = 1;
  EXPECT_THROW(SimulateDescent(data.x, data.y, options, Optimiser::kSgd, -0.5, {3, 10, 5}, random),
               Error);
}

// All epochs together cost the budget, against those that the noise is sized for; every sum alone
// costs less; nothing protects from all compute nodes.
TEST(LogisticSumsTest, StatesTheWholeTraining) {
  LogisticViOptions options = Options();
  for (const double epsilon : {0.5, 1.0, 4.0}) {
    options.epsilon = epsilon;
    const auto batch = BatchContract(2, options, {3, 10, 5});
    const privacy::Statement statement = StateLogistic(batch, 2000, options);
    ASSERT_EQ(statement.rows.size(), 4U);
    EXPECT_EQ(statement.rows[0].adversary.kind, privacy::AdversaryKind::kBatchObserver);
    EXPECT_LT(statement.rows[0].loss.epsilon_upper, epsilon);
    // 235 shares count, for 5 may not have been added, and 234 cost epsilon: with standard
    // deviation 0.2 % larger epsilon is at most 0.5 % smaller; all 240 would make it 1.2 % smaller.
    EXPECT_GT(statement.rows[0].loss.epsilon_upper, epsilon * (1 - 0.008));
    EXPECT_THAT(statement.caveats, ::testing::Contains(::testing::HasSubstr("do not add it")));
    for (const size_t row : {1, 2}) {
      EXPECT_NEAR(statement.rows[row].loss.epsilon_upper, epsilon, 1e-6 * epsilon);
      EXPECT_GE(statement.rows[row].loss.epsilon_upper, epsilon * (1 - 1e-9));
    }
    EXPECT_TRUE(statement.rows[3].loss.infinite);
    // One epoch of the same noise.
    LogisticViOptions once = options;
    once.epochs = 1;
    EXPECT_LT(StateLogistic(batch, 2000, once).rows[2].loss.epsilon_upper, 0.5 * epsilon);
  }
}

TEST(LogisticSumsTest, RefusesWhatDoesNotFit) {
  const Data data = DrawData(100);
  LogisticViOptions options = Options();
  crypto::SystemRandom random;
  EXPECT_THROW(SimulateLogistic(data.x, data.y, options, {}, random), Error);  // one batch of 250
  options.batch_size = 20;
  EXPECT_THROW(SimulateLogistic(data.x, data.y, options, {3, 15, 5}, random), Error);
  EXPECT_THROW(SimulateLogistic(data.x, data.y, options, {1, 0, 0}, random), Error);
  EXPECT_THROW(SimulateLogistic(data.x, data.y.head(50), options, {}, random), Error);
}

}  // namespace
}  // namespace partita::sums::regression::logistic_sums_test
