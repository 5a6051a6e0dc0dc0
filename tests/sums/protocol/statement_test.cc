// What is charged, against whom, and that the noise in a sum has exactly the law that is charged.
#include <cmath>

#include "privacy/sampling/release_statement.h"
#include "sums/protocol/simulate.h"
#include "sums/protocol/sum_statement.h"
#include "tests/sums/protocol/world.h"

namespace partita::sums::statement_test {
namespace {

using privacy::AdversaryKind;

Contract Planned() {
  Contract contract = SmallContract(100, 4, 3);
  contract.max_drop = 20;
  contract.max_collude = 9;
  contract.clip = {privacy::Norm::kL2, 1.0, 20};
  return contract;
}

// Multiples of the share variance that protect from an adversary: all rows of a statement, made
// from the sensitivity and the number of shares alone.
double EpsilonOfShares(const Contract& contract, uint32_t shares, privacy::Delta delta) {
  const privacy::DiscreteGaussianNoise noise{ShareVariance(contract), shares, contract.dimension};
  return privacy::DiscreteGaussianEpsilon(
             privacy::GridL2Sensitivity(2.0 * contract.clip.bound * 0x1p20), noise, delta)
      .upper;
}

TEST(StatementTest, CountsTheSharesThatEachAdversaryLacks) {
  const Contract contract = Planned();
  const privacy::Delta delta(1e-6);
  for (const uint32_t accepted : {93U}) {
    const privacy::Statement statement = StateSum(contract, accepted, delta);
    ASSERT_EQ(statement.rows.size(), 5U);
    // 9 may have added no noise, and whoever counts on the others may be one client more.
    const std::array<uint32_t, 4> lacking = {accepted - 9, accepted - 10, accepted - 10,
                                             accepted - 10};
    for (size_t i = 0; i < lacking.size(); ++i) {
      EXPECT_EQ(statement.rows[i].adjacency, privacy::Adjacency::kReplace);
      EXPECT_FALSE(statement.rows[i].loss.infinite);
      EXPECT_EQ(statement.rows[i].loss.epsilon_upper, EpsilonOfShares(contract, lacking[i], delta));
    }
    EXPECT_EQ(statement.rows[0].adversary.kind, AdversaryKind::kOutsideAnalyst);
    EXPECT_EQ(statement.rows[1].adversary.size, 1U);
    EXPECT_EQ(statement.rows[2].adversary.size, 10U);
    EXPECT_EQ(statement.rows[3].adversary.kind, AdversaryKind::kComputeNodes);
    EXPECT_EQ(statement.rows[3].adversary.size, 2U);
    EXPECT_EQ(statement.rows[4].adversary.size, 3U);
    EXPECT_TRUE(statement.rows[4].loss.infinite);
    EXPECT_EQ(ChargedLoss(contract, accepted, delta), statement.rows[3].loss);
  }
}

TEST(StatementTest, CoalitionsLargerThanPlannedCountWhole) {
  Contract contract = Planned();
  EXPECT_EQ(UncountedShares(contract, 0), 9U);
  EXPECT_EQ(UncountedShares(contract, 1), 10U);
  EXPECT_EQ(UncountedShares(contract, 10), 10U);
  EXPECT_EQ(UncountedShares(contract, 11), 11U);
  contract.max_collude = 0;
  EXPECT_EQ(UncountedShares(contract, 0), 0U);
  EXPECT_EQ(UncountedShares(contract, 1), 1U);
}

// The trap of methods.md 2: with the smallest accepted number the charge is that of s, not less;
// more uploads charge less; fewer are refused.
TEST(StatementTest, ChargesWhatArrived) {
  const Contract contract = Planned();
  const privacy::Delta delta(1e-6);
  const privacy::DiscreteGaussianNoise planned{contract.variance, 1, contract.dimension};
  const double target =
      privacy::DiscreteGaussianEpsilon(SumSensitivity(contract), planned, delta).upper;
  const double least = ChargedLoss(contract, 80, delta).epsilon_upper;
  EXPECT_NEAR(least, target, 1e-9 * target);
  EXPECT_LT(ChargedLoss(contract, 100, delta).epsilon_upper, least);
  for (const uint32_t bad : {0U, 79U, 101U}) {
    ExpectError(ErrorCode::kRefused, [&] { ChargedLoss(contract, bad, delta); });
    ExpectError(ErrorCode::kRefused, [&] { StateSum(contract, bad, delta); });
  }
}

TEST(StatementTest, NodesThatAddTheNoiseProtectAlone) {
  Contract contract = Planned();
  contract.noise_source = NoiseSource::kNodes;
  const privacy::Delta delta(1e-6);
  const privacy::Statement statement = StateSum(contract, 80, delta);
  const std::array<uint32_t, 4> lacking = {3, 3, 3, 1};
  for (size_t i = 0; i < lacking.size(); ++i) {
    EXPECT_EQ(statement.rows[i].loss.epsilon_upper, EpsilonOfShares(contract, lacking[i], delta));
  }
  EXPECT_TRUE(statement.rows[4].loss.infinite);
}

// The noise in a simulated sum has the variance n v: 20000 coordinates, each the sum of 100 shares.
// Its sample variance is within 6 standard errors (1 % each) of n v but with probability below
// 2e-9; shares of s/N instead of s/(N - T_drop - T_collude - 1) would miss it by 30 %.
TEST(StatementTest, NoiseInTheSumHasTheChargedVariance) {
  Simulation simulation;
  simulation.contract = Planned();
  simulation.contract.dimension = 20000;
  simulation.contract.clip.bound = 1024;
  simulation.threads = 1;
  std::vector<Int128> rows(simulation.contract.dimension);
  simulation.row = [](uint32_t client, std::span<double> row) {
    for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<double>((client + i) % 5);
  };
  crypto::Prg random = SeededStream(11);
  const SimulationResult result = Simulate(simulation, random);
  const privacy::DiscreteGaussianNoise noise = RemainingAgainstClients(simulation.contract, 100, 0);
  const double stddev = privacy::StddevLowerBound(noise.share_variance);
  const double variance = noise.shares * stddev * stddev;
  EXPECT_NEAR(variance, std::pow(0x1p20, 2) * 100 / 70, 1e-9 * variance);
  double mean = 0;
  double squares = 0;
  for (size_t i = 0; i < result.sum.size(); ++i) {
    // 100 clients: every residue 20 times, 20 (0 + 1 + 2 + 3 + 4) = 200.
    const auto left = static_cast<double>(result.sum[i] - (Int128{200} << 20));
    mean += left;
    squares += left * left;
  }
  const auto count = static_cast<double>(result.sum.size());
  mean /= count;
  EXPECT_LT(std::abs(mean), 6 * std::sqrt(variance / count));
  EXPECT_NEAR(squares / count / variance, 1, 6 * std::sqrt(2 / count));
}

TEST(SimulateTest, EveryTransportAndRingGivesTheSum) {
  for (const auto transport :
       {SimulatedTransport::kNone, SimulatedTransport::kRegistered, SimulatedTransport::kSealed}) {
    for (const RingBits ring : {RingBits::k64, RingBits::k128}) {
      Simulation simulation;
      simulation.contract = SmallContract(203, 7, 4);
      simulation.contract.ring = ring;
      simulation.transport = transport;
      simulation.row = [](uint32_t client, std::span<double> row) {
        for (double& value : row) value = client;
      };
      crypto::Prg random = SeededStream(12);
      const SimulationResult result = Simulate(simulation, random);
      // 40 standard deviations: exceeded with probability below 1e-300; one missing or repeated
      // client moves most coordinates by more.
      const double limit = 40 * TotalNoiseStddev(simulation.contract, 203);
      for (const Int128 value : result.sum) {
        EXPECT_LT(std::abs(static_cast<double>(value) - 203.0 * 202 / 2 * 0x1p20), limit);
      }
      EXPECT_EQ(result.stream_bytes, 2U * 203 * 3 * 7 * WordBytes(simulation.contract));
      uint64_t upload_bytes = 0;
      for (uint16_t node = 0; node < 4; ++node) {
        if (transport == SimulatedTransport::kNone) continue;
        const UploadMode mode = transport == SimulatedTransport::kSealed ? UploadMode::kSealed
                                                                         : UploadMode::kRegistered;
        upload_bytes += 203 * EnvelopeBytes(simulation.contract, mode, node);
      }
      EXPECT_EQ(result.upload_bytes, upload_bytes);
    }
  }
}

}  // namespace
}  // namespace partita::sums::statement_test
