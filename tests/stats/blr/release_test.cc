// Noise of a regression's release: how much, of which law, from whose shares.
#include "stats/blr/release.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "privacy/sampling/calibrate.h"
#include "privacy/sampling/discrete_gaussian_mechanism.h"
#include "stats/blr/sensitivity.h"
#include "stats/blr/statistics.h"
#include "tests/stats/blr/random.h"

namespace partita::stats::blr::release_test {
namespace {

Design MakeDesign(size_t features) {
  Design design;
  for (size_t j = 0; j < features; ++j) design.features.push_back({"x", 1, 0});
  design.target = {"y", 1, 0};
  return design;
}

NoiseRequest Gaussian(double epsilon, privacy::NoiseSharing sharing = {1, 0}) {
  return {NoiseKind::kGaussian, epsilon, 1e-5, sharing};
}

TEST(ReleaseTest, MeetsTheBudgetOnTheGridAndHardlyMore) {
  const Design design = MakeDesign(4);
  for (const double epsilon : {0.3, 1.0, 10.0}) {
    const NoiseDesign noise = DesignStatisticsNoise(design, Gaussian(epsilon));
    EXPECT_EQ(noise.dimension, 15u);
    const auto grid = privacy::ToGrid(StatisticsL2Sensitivity(design), kSumFractionBits, 15, 0);
    const auto bounds = privacy::DiscreteGaussianProfileOf(grid, {noise.required, 1, 15})
                            .Delta(privacy::Epsilon(epsilon));
    EXPECT_LE(bounds.upper, 1e-5);
    EXPECT_GT(bounds.upper, 0.999e-5);
    const double analytic = privacy::AnalyticGaussianStddev(
        privacy::L2Sensitivity(5), privacy::Epsilon(epsilon), privacy::Delta(1e-5));
    EXPECT_NEAR(std::sqrt(noise.variance), analytic, 1e-6 * analytic);
  }
}

TEST(ReleaseTest, VarianceIsTheDeclaredMultipleOfTheTrustedAggregators) {
  const Design design = MakeDesign(2);
  const NoiseDesign trusted = DesignStatisticsNoise(design, Gaussian(1));
  const struct {
    uint32_t parties, known;
    double multiple;
  } cases[] = {{100, 1, 100.0 / 99}, {100, 46, 100.0 / 54}, {1000, 999, 1000}, {3, 0, 1}};
  for (const auto& c : cases) {
    const NoiseDesign noise = DesignStatisticsNoise(design, Gaussian(1, {c.parties, c.known}));
    EXPECT_DOUBLE_EQ(noise.variance_multiple, c.multiple);
    EXPECT_NEAR(noise.variance, c.multiple * trusted.variance, 1e-12 * noise.variance);
    // Exactly: released * (m - c) = required * m as fractions.
    EXPECT_EQ(privacy::Multiply(privacy::Divide(noise.released, c.parties), c.parties - c.known),
              privacy::Multiply(privacy::Divide(trusted.required, 1), 1));
  }
}

// The mean of N squares of standard normal variables is within 5.7 sqrt(2/N) of 1 but with
// probability 2e-8 or so; eight such checks: below 1e-6.
TEST(ReleaseTest, SharesAddUpToTheLawOfTheRelease) {
  const Design design = MakeDesign(3);
  constexpr uint32_t kParties = 12;
  constexpr int kRuns = 4000;
  for (const NoiseKind kind : {NoiseKind::kGaussian, NoiseKind::kLaplace}) {
    const uint32_t known = kind == NoiseKind::kGaussian ? 2 : 0;
    const NoiseDesign noise = DesignStatisticsNoise(design, {kind, 1, 1e-5, {kParties, known}});
    const NoiseSampler sampler(noise), share(noise, NoisePart::kShare);
    TestRandom random(11);
    double shares = 0, whole = 0, magnitude = 0;
    for (int run = 0; run < kRuns; ++run) {
      std::vector<Int128> sum(noise.dimension), drawn(noise.dimension);
      if (run < kRuns / 10) {
        for (uint32_t party = 0; party < kParties; ++party) {
          share.AddTo(sum, random);
        }
        for (const Int128 value : sum)
          shares += std::pow(std::ldexp(static_cast<double>(value), -kSumFractionBits), 2);
      }
      sampler.AddTo(drawn, random);
      for (const Int128 value : drawn) {
        const double real = std::ldexp(static_cast<double>(value), -kSumFractionBits);
        whole += real * real;
        magnitude += std::abs(real);
      }
    }
    const double draws = kRuns * static_cast<double>(noise.dimension);
    // Fourth moments: 3 for the normal, 6 for the Laplace law.
    const double spread = kind == NoiseKind::kGaussian ? 2 : 5;
    EXPECT_NEAR(whole / draws / noise.variance, 1, 5.7 * std::sqrt(spread / draws));
    EXPECT_NEAR(shares / (draws / 10) / noise.variance, 1, 5.7 * std::sqrt(10 * spread / draws));
    // E|X| / sd tells the laws apart: 0.798 and 0.707.
    const double ratio = kind == NoiseKind::kGaussian ? std::sqrt(2 / M_PI) : std::sqrt(0.5);
    EXPECT_NEAR(magnitude / draws / std::sqrt(noise.variance), ratio, 5.7 / std::sqrt(draws));
  }
}

TEST(ReleaseTest, LaplaceNoiseIsPurelyPrivate) {
  const Design design = MakeDesign(3);
  const NoiseDesign noise = DesignStatisticsNoise(design, {NoiseKind::kLaplace, 0.5, 0, {1000, 0}});
  const auto grid = privacy::ToGrid(StatisticsL1Sensitivity(design), kSumFractionBits, 10, 0);
  EXPECT_LE(privacy::DiscreteLaplaceEpsilon(grid, noise.laplace_scale).upper, 0.5);
  EXPECT_THROW(DesignStatisticsNoise(design, {NoiseKind::kLaplace, 0.5, 0, {1000, 1}}), Error);
}

// methods.md 0.8: analytic noise is smaller where the classical one is proved, larger where that
// one is not private.
TEST(ReleaseTest, AnalyticNoiseAgainstClassical) {
  constexpr double kDelta = 1e-4;
  const privacy::L2Sensitivity unit(1);
  const auto analytic = [&](double epsilon) {
    return privacy::AnalyticGaussianStddev(unit, privacy::Epsilon(epsilon), privacy::Delta(kDelta));
  };
  const auto classical = [&](double epsilon) {
    return std::sqrt(2 * std::log(1.25 / kDelta)) / epsilon;
  };
  const auto classical_true_delta = [&](double epsilon) {
    return privacy::GaussianDelta(unit, classical(epsilon), privacy::Epsilon(epsilon)).upper;
  };
  for (const double epsilon : {0.1, 0.3, 1.0}) {
    EXPECT_LT(analytic(epsilon), classical(epsilon));
    EXPECT_LT(classical_true_delta(epsilon), kDelta);
  }
  EXPECT_GT(analytic(10), classical(10));
  EXPECT_NEAR(analytic(10), 0.4552651305467653, 1e-9);
  EXPECT_NEAR(classical_true_delta(10), 0.00027428047424087136, 1e-12);
  EXPECT_NEAR(analytic(31.622776601683793), 0.19435186137764787, 1e-9);
  EXPECT_NEAR(classical_true_delta(31.622776601683793), 0.20245217101512808, 1e-9);

  const Design design = MakeDesign(3);
  NoiseRequest request = Gaussian(1);
  request.kind = NoiseKind::kClassicalGaussian;
  EXPECT_GT(DesignStatisticsNoise(design, request).variance,
            DesignStatisticsNoise(design, Gaussian(1)).variance);
  request.epsilon = 1.5;
  EXPECT_THROW(DesignStatisticsNoise(design, request), Error);
}

TEST(ReleaseTest, RefusesNonsense) {
  const Design design = MakeDesign(1);
  EXPECT_THROW(DesignStatisticsNoise(design, Gaussian(-1)), Error);
  EXPECT_THROW(DesignStatisticsNoise(design, Gaussian(1, {5, 5})), Error);
  EXPECT_THROW(DesignStatisticsNoise(design, {NoiseKind::kGaussian, 1, 1.5, {1, 0}}), Error);
  const NoiseSampler sampler(DesignStatisticsNoise(design, Gaussian(1)));
  TestRandom random(1);
  std::vector<Int128> wrong(2);
  EXPECT_THROW(sampler.AddTo(wrong, random), Error);
}

}  // namespace
}  // namespace partita::stats::blr::release_test
