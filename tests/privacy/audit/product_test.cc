// The product's own calibrated noise, audited from outside and from a coalition's side at epsilon =
// 1 or mu about 1, 1e5 runs: never above its claim, never far below. Each audit has a false-alarm
// probability of 1e-6; randomness is fixed.
#include <gtest/gtest.h>

#include <cmath>

#include "privacy/accounting/trade_off.h"
#include "privacy/audit/epsilon_audit.h"
#include "privacy/audit/trade_off_audit.h"
#include "privacy/sampling/calibrate.h"
#include "privacy/sampling/distributed_noise.h"
#include "tests/privacy/audit/exact_law.h"
#include "tests/privacy/audit/worlds.h"

namespace partita::privacy::product_test {
namespace {

constexpr uint64_t kRuns = 100000;
constexpr int64_t kShift = 50;

ShareSampler Sampler(const GridVariance& variance) {
  const auto sampler = std::make_shared<DiscreteGaussian>(variance);
  return [sampler](crypto::RandomSource& random, std::span<Int128> out) {
    sampler->Sample(random, out);
  };
}

TEST(ProductAuditTest, CalibratedDiscreteLaplace) {
  const GridScale scale =
      DiscreteLaplaceScale(GridL1Sensitivity(static_cast<double>(kShift)), Epsilon(1));
  const DiscreteLaplace noise(scale);
  const ShareSampler sampler = [&](crypto::RandomSource& random, std::span<Int128> out) {
    noise.Sample(random, out);
  };
  const Worlds worlds = Observe(Scalar({sampler}, kShift), {}, kRuns, 1);
  const double found = AuditEpsilon(worlds.with, worlds.without, 0).epsilon_lower;
  EXPECT_LE(found, 1);
  EXPECT_GE(found, 0.9);
}

TEST(ProductAuditTest, CalibratedDiscreteGaussian) {
  const GridVariance variance = CalibrateDiscreteGaussian(
      GridL2Sensitivity(static_cast<double>(kShift)), 1, Epsilon(1), Delta(0.05));
  const Worlds worlds = Observe(Scalar({Sampler(variance)}, kShift), {}, kRuns, 2);
  const double found = AuditEpsilon(worlds.with, worlds.without, 0.05).epsilon_lower;
  EXPECT_LE(found, 1);
  EXPECT_GE(found, 0.7);
  EXPECT_FALSE(
      AuditTradeOff(worlds.with, worlds.without, EpsilonDeltaTradeOff({1, 0.05})).violated);
}

// Shares for m parties of which c are known: whoever knows c faces exactly the claimed noise, for
// every coalition.
TEST(ProductAuditTest, DistributedNoiseFromEverySide) {
  for (const NoiseSharing sharing : {NoiseSharing{3, 1}, NoiseSharing{4, 2}}) {
    const GridVariance variance = VarianceOfStddev(static_cast<double>(kShift));
    const DistributedNoise noise = ShareNoise(variance, sharing, 1);
    const SharedRelease release =
        Scalar(std::vector<ShareSampler>(sharing.parties, Sampler(noise.share_variance)), kShift);
    std::vector<size_t> known;
    for (size_t c = 0; c <= sharing.known_shares; ++c) {
      const Worlds worlds = Observe(release, known, kRuns, 10 + c);
      const double mu = std::sqrt(static_cast<double>(sharing.parties - sharing.known_shares) /
                                  static_cast<double>(sharing.parties - c));
      const double found = AuditMu(worlds.with, worlds.without).mu_lower;
      EXPECT_LE(found, mu) << c;
      EXPECT_GE(found, 0.9 * mu) << c;
      known.push_back(c + 1);
    }
  }
}

// What remains of the sum of shares against its statement, without any run.
TEST(ProductAuditTest, RemainingNoiseByItsExactLaw) {
  const DistributedNoise noise = ShareNoise(VarianceOfStddev(12), {3, 1}, 1);
  const IntegerLaw share = DiscreteGaussianLaw(noise.share_variance);
  const IntegerLaw remaining = SumOfLaws(share, share);
  for (const double epsilon : {0.0, 0.7, 2.0}) {
    const Bounds stated = DiscreteGaussianProfileOf(GridL2Sensitivity(9), RemainingNoise(noise, 1))
                              .Delta(Epsilon(epsilon));
    const Bounds exact = ExactDelta(remaining, remaining, 9, epsilon);
    EXPECT_LE(exact.lower, stated.upper);
    EXPECT_GE(exact.upper, stated.lower);
    EXPECT_NEAR(exact.upper, exact.lower, 1e-12);
    EXPECT_NEAR(stated.upper, exact.upper, 1e-3 * exact.upper);
  }
}

}  // namespace
}  // namespace partita::privacy::product_test
