// A regression through the clients and compute nodes of a private sum, in one process.
#include "sums/regression/regression_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "crypto/prg.h"
#include "stats/blr/statistics.h"
#include "sums/file/regression_contract.h"
#include "sums/protocol/calibrate.h"
#include "sums/protocol/sum_statement.h"
#include "tests/sums/regression/specs.h"

namespace partita::sums::regression::regression_sum_test {
namespace {

struct World {
  Spec spec = SmallSpec();
  stats::blr::Design design;
  Contract contract;
  Rows rows;
};

// y = 40 + 3 x + 5 [b] - 8 [c] + N(0, 4^2)
World MakeWorld(bool laplace, size_t rows, uint32_t clients, double epsilon) {
  World world;
  world.spec.laplace = laplace;
  world.design = DesignOf(world.spec);
  world.contract.nodes = 3;
  world.contract.clients = clients;
  world.contract.max_drop = clients / 10;
  world.contract.max_collude = clients / 20;
  ShapeContract(world.spec, world.contract);
  CalibrateNoise(world.contract, privacy::Epsilon(epsilon), privacy::Delta(1e-6));
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  std::string text = "x,g,y\n";
  for (size_t r = 0; r < rows; ++r) {
    const double x = 2 + 1.5 * normal(random);
    const auto level = static_cast<size_t>(random() % 3);
    const double y = 40 + 3 * x + (level == 1 ? 5.0 : level == 2 ? -8.0 : 0.0) + 4 * normal(random);
    text += std::to_string(x) + "," + "abc"[level] + "," + std::to_string(y) + "\n";
  }
  const data::CsvContents csv = Read(world.spec, text);
  world.rows = TakeRows(world.spec, world.design, csv.table, csv.report);
  return world;
}

// The plaintext twin: what the clients' rows add up to exactly; the rest is noise of the declared
// size. 14 entries, each beyond 12 standard deviations with probability below 1e-6 (Laplace:
// e^-17).
TEST(RegressionSumTest, IsThePlaintextSumPlusTheDeclaredNoise) {
  for (const bool laplace : {false, true}) {
    const World world = MakeWorld(laplace, 950, 1000, 1);
    crypto::SystemRandom random;
    const SimulatedSum simulated =
        SimulateSum(world.spec, world.design, world.contract, world.rows, random);
    const std::vector<Int128> exact = stats::blr::SumEntries(world.design, world.rows.values);
    ASSERT_EQ(simulated.sum.entries.size(), exact.size());
    EXPECT_EQ(simulated.sum.rows, 950U);
    double square = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      const double noise =
          std::ldexp(static_cast<double>(simulated.sum.entries[i] - exact[i]), -48);
      EXPECT_NE(noise, 0);
      EXPECT_LT(std::abs(noise), 12 * simulated.sum.noise_stddev);
      square += noise * noise;
    }
    // A mean square of 14 that is 50 times too small has probability below 1e-9.
    EXPECT_GT(std::sqrt(square / 14), simulated.sum.noise_stddev / 7);
    // 950 shares of which 849 are needed.
    EXPECT_NEAR(simulated.sum.noise_stddev, std::ldexp(TotalNoiseStddev(world.contract, 950), -48),
                1e-12);
  }
}

// With a generous budget and many clients the truth lies within six posterior deviations: 4
// coefficients, below 1e-7 under the model.
TEST(RegressionSumTest, FitsWhatTheClientsHold) {
  const World world = MakeWorld(false, 3000, 3000, 20);
  crypto::SystemRandom random;
  const SimulatedSum simulated =
      SimulateSum(world.spec, world.design, world.contract, world.rows, random);
  crypto::Prg chain(FitKey(simulated.sum));
  const Fit fit = FitSum(world.spec, world.design, simulated.sum, chain);
  const double truth[] = {40, 3, 5, -8};
  for (size_t k = 0; k < 4; ++k) {
    const CoefficientFacts& row = fit.result.coefficients[k];
    EXPECT_LT(std::abs(row.mean - truth[k]), 6 * row.stddev) << row.name;
    EXPECT_LT(row.stddev, 3) << row.name;
    EXPECT_LT(row.lower, row.mean);
    EXPECT_GT(row.upper, row.mean);
  }
  const double epsilon = ChargedLoss(world.contract, 3000, privacy::Delta(1e-6)).epsilon_upper;
  EXPECT_LT(epsilon, 20);
}

TEST(RegressionSumTest, RefusesTablesOfAnotherSize) {
  const World world = MakeWorld(false, 89, 100, 1);
  crypto::SystemRandom random;
  EXPECT_THROW(SimulateSum(world.spec, world.design, world.contract, world.rows, random), Error);
  const World many = MakeWorld(false, 101, 100, 1);
  EXPECT_THROW(SimulateSum(many.spec, many.design, many.contract, many.rows, random), Error);
}

}  // namespace
}  // namespace partita::sums::regression::regression_sum_test
