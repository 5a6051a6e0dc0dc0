// Private sums with Laplace noise: the law of what remains, the statement, and sums that come out.
#include <algorithm>
#include <cmath>
#include <functional>

#include "privacy/sampling/calibrate.h"
#include "sums/protocol/calibrate.h"
#include "sums/protocol/noise_share.h"
#include "sums/protocol/simulate.h"
#include "sums/protocol/sum_statement.h"
#include "tests/sums/protocol/world.h"

namespace partita::sums::laplace_test {
namespace {

Contract LaplaceContract() {
  Contract contract = SmallContract(30, 2, 3);
  contract.max_drop = 6;
  contract.max_collude = 3;
  contract.noise_law = NoiseLaw::kLaplace;
  contract.clip = {privacy::Norm::kL1, 4.0, 20};
  contract.laplace_scale = 1 << 20;
  return contract;
}

// P(X <= x) of the discrete Laplace law of scale t at whole x.
double LaplaceDistribution(double x, double t) {
  const double a = std::exp(-1 / t);
  return x < 0 ? std::pow(a, -x) / (1 + a) : 1 - std::pow(a, x + 1) / (1 + a);
}

// Kolmogorov-Smirnov distance of `count` sums of `shares` draws.
double Distance(const Contract& contract, uint32_t shares, size_t count) {
  crypto::Prg random = SeededStream(5);
  const NoiseShare share(contract);
  std::vector<Int128> sums(count), one(count);
  for (uint32_t k = 0; k < shares; ++k) {
    share.Sample(random, one);
    for (size_t i = 0; i < count; ++i) sums[i] += one[i];
  }
  std::sort(sums.begin(), sums.end());
  double distance = 0;
  const auto t = static_cast<double>(contract.laplace_scale);
  for (size_t i = 0; i < count; ++i) {
    const double exact = LaplaceDistribution(static_cast<double>(sums[i]), t);
    const double below = static_cast<double>(i) / static_cast<double>(count);
    distance = std::max({distance, std::abs(exact - below),
                         std::abs(exact - below - 1 / static_cast<double>(count))});
  }
  return distance;
}

// The law is compared where nobody but 6 + 3 + 1 clients are missing. By Dvoretzky, Kiefer,
// Wolfowitz and Massart the distance exceeds sqrt(ln(2e6) / (2 n)) with probability below 1e-6; the
// sums of one share more or less lie outside.
TEST(LaplaceTest, WhatRemainsIsOneLaplaceNoise) {
  const Contract contract = LaplaceContract();
  ASSERT_EQ(SharesNeeded(contract), 20U);
  constexpr size_t kCount = 40000;
  const double allowed = std::sqrt(std::log(2e6) / (2.0 * kCount));
  EXPECT_LT(Distance(contract, 20, kCount), allowed);
  EXPECT_GT(Distance(contract, 16, kCount), allowed);
  Contract nodes = contract;
  nodes.noise_source = NoiseSource::kNodes;
  ASSERT_EQ(SharesNeeded(nodes), 1U);
  EXPECT_LT(Distance(nodes, 1, kCount), allowed);
}

TEST(LaplaceTest, StatesThePureEpsilonAgainstAllButAllNodes) {
  Contract contract = LaplaceContract();
  const privacy::Statement statement = StateSum(contract, 25, privacy::Delta(1e-6));
  ASSERT_EQ(statement.rows.size(), 5U);
  // Sensitivity 2 C 2^f over t.
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_FALSE(statement.rows[i].loss.infinite);
    EXPECT_NEAR(statement.rows[i].loss.epsilon_upper, 8, 1e-9);
    EXPECT_GE(statement.rows[i].loss.epsilon_upper, 8);
    EXPECT_EQ(statement.rows[i].loss.delta, 0);
  }
  EXPECT_TRUE(statement.rows[4].loss.infinite);
  contract.sensitivity = 2;
  EXPECT_NEAR(ChargedLoss(contract, 24, privacy::Delta(1e-6)).epsilon_upper, 2, 1e-9);
  EXPECT_THROW(ChargedLoss(contract, 23, privacy::Delta(1e-6)), Error);
}

TEST(LaplaceTest, RefusesContractsThatDoNotFit) {
  const auto refuses = [](const std::function<void(Contract&)>& change) {
    Contract contract = LaplaceContract();
    CheckContract(contract);
    change(contract);
    ExpectError(ErrorCode::kUsage, [&] { CheckContract(contract); });
  };
  refuses([](Contract& c) { c.clip.norm = privacy::Norm::kL2; });
  refuses([](Contract& c) { c.laplace_scale = 0; });
  refuses([](Contract& c) { c.laplace_scale = UInt128{1} << 101; });
  refuses([](Contract& c) { c.laplace_scale = UInt128{1} << 56; });  // the sum would wrap
  refuses([](Contract& c) { c.sensitivity = 8.1; });
  refuses([](Contract& c) { c.sensitivity = -1; });
  refuses([](Contract& c) { c.sensitivity = std::nan(""); });
  refuses([](Contract& c) { c.noise_law = NoiseLaw::kGaussian; });  // of rows in the L1 norm
  refuses([](Contract& c) { c.noise_law = static_cast<NoiseLaw>(7); });
}

// The least noise of a budget, at most two parts in 2^20 above it.
TEST(CalibrateTest, MeetsTheBudgetAndNoMore) {
  for (const NoiseLaw law : {NoiseLaw::kLaplace, NoiseLaw::kGaussian}) {
    for (const double epsilon : {0.01, 0.7, 3.0}) {
      Contract contract = LaplaceContract();
      contract.noise_law = law;
      if (law == NoiseLaw::kGaussian) contract.clip.norm = privacy::Norm::kL2;
      contract.sensitivity = 5;
      const privacy::Delta delta(1e-5);
      CalibrateNoise(contract, privacy::Epsilon(epsilon), delta);
      const double charged = ChargedLoss(contract, MinAccepted(contract), delta).epsilon_upper;
      EXPECT_LE(charged, epsilon * (1 + 1e-9));
      EXPECT_GT(charged, epsilon * (1 - 1e-5));
    }
  }
}

// The sum of the rows, and noise of the declared size: 25 clients and every node's.
TEST(LaplaceTest, SumsComeOut) {
  for (const NoiseSource source : {NoiseSource::kClients, NoiseSource::kNodes}) {
    Simulation simulation;
    simulation.contract = LaplaceContract();
    simulation.contract.noise_source = source;
    simulation.contract.dimension = 4000;
    simulation.contract.clip.bound = 4000;
    simulation.transport = SimulatedTransport::kRegistered;
    simulation.arrived = 25;
    simulation.row = [](uint32_t client, std::span<double> row) {
      std::ranges::fill(row, client % 2 == 0 ? 0.5 : -0.25);
    };
    crypto::Prg random = SeededStream(11);
    const SimulationResult result = Simulate(simulation, random);
    const double exact = std::ldexp(13 * 0.5 - 12 * 0.25, 20);
    double square = 0;
    for (const Int128 value : result.sum)
      square += std::pow(static_cast<double>(value) - exact, 2) / 4000;
    const double stddev = TotalNoiseStddev(simulation.contract, 25);
    // The mean square of 4000 draws with a kurtosis of 6 at most: standard deviation 3.6 %, six of
    // them are exceeded with probability below 1e-6.
    EXPECT_NEAR(square / (stddev * stddev), 1, 0.22);
  }
  Simulation simulation;
  simulation.contract = LaplaceContract();
  simulation.arrived = 31;
  simulation.row = [](uint32_t, std::span<double>) {};
  crypto::Prg random = SeededStream(1);
  EXPECT_THROW(Simulate(simulation, random), Error);
}

}  // namespace
}  // namespace partita::sums::laplace_test
