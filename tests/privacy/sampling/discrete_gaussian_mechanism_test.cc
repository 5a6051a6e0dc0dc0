// Discrete Gaussian noise: stored exact profiles, brute force over all shifts in one and two
// dimensions, sums of shares by convolution, calibration, sharing among parties.
#include "privacy/sampling/discrete_gaussian_mechanism.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "privacy/sampling/distributed_noise.h"
#include "tests/paths.h"
#include "tests/privacy/sampling/expect_error.h"

namespace partita::privacy::discrete_gaussian_mechanism_test {
namespace {

DiscreteGaussianNoise Noise(double stddev, size_t dimension = 1) {
  return {VarianceOfStddev(stddev), 1, dimension};
}

// Masses at -last .. last.
std::vector<double> Masses(double stddev, int last) {
  std::vector<double> masses;
  double total = 0;
  for (int k = -last; k <= last; ++k) {
    masses.push_back(std::exp(-k * (k / (2 * stddev * stddev))));
    total += masses.back();
  }
  for (double& mass : masses) mass /= total;
  return masses;
}

// sum (p(k) - e^eps p(k - shift))+ over a law given by its masses.
double HockeyStick(const std::vector<double>& masses, int shift, double epsilon) {
  double sum = 0;
  for (int k = 0; k < static_cast<int>(masses.size()); ++k) {
    const int from = k - shift;
    const double other =
        from >= 0 && from < static_cast<int>(masses.size()) ? masses[static_cast<size_t>(from)] : 0;
    sum += std::max(0.0, masses[static_cast<size_t>(k)] - std::exp(epsilon) * other);
  }
  return sum;
}

TEST(DiscreteGaussianMechanismTest, StoredProfiles) {
  std::ifstream file(FixturePath("references/dp_accounting.json"));
  ASSERT_TRUE(file);
  int compared = 0;
  const auto json = nlohmann::json::parse(file);
  for (const auto& row : json["tables"]["B_discrete_gaussian"]) {
    if (row["inputs"]["T"].get<int>() != 1) continue;
    ++compared;
    const GridL2Sensitivity sensitivity(row["inputs"]["sensitivity"].get<double>());
    const DiscreteGaussianNoise noise = Noise(row["inputs"]["sigma"].get<double>());
    const double exact = row["exact"]["epsilon"].get<double>();
    const Bounds epsilon =
        DiscreteGaussianEpsilon(sensitivity, noise, Delta(row["inputs"]["delta"].get<double>()));
    EXPECT_NEAR(epsilon.lower, exact, exact * 1e-9) << row.dump();
    EXPECT_NEAR(epsilon.upper, exact, exact * 1e-9) << row.dump();
    for (const auto& point : row["delta_at_epsilon"]) {
      const Bounds delta = DiscreteGaussianProfileOf(sensitivity, noise)
                               .Delta(Epsilon(point["epsilon"].get<double>()));
      EXPECT_NEAR(delta.upper / point["delta"].get<double>(), 1, 1e-8);
      EXPECT_NEAR(delta.lower / point["delta"].get<double>(), 1, 1e-8);
    }
  }
  EXPECT_GE(compared, 4);
}

TEST(DiscreteGaussianMechanismTest, OneCoordinateIsExact) {
  for (const double stddev : {0.3, 0.7, 1.0, 3.3, 20.0}) {
    const std::vector<double> masses = Masses(stddev, static_cast<int>(40 * stddev) + 30);
    for (const int shift : {1, 2, 7}) {
      for (const double epsilon : {0.0, 0.05, 0.5, 2.0, 9.0}) {
        const double exact = HockeyStick(masses, shift, epsilon);
        const Bounds ours = DiscreteGaussianProfileOf(GridL2Sensitivity(shift), Noise(stddev))
                                .Delta(Epsilon(epsilon));
        EXPECT_NEAR(ours.lower, exact, 1e-13 + exact * 1e-11) << stddev << " " << shift;
        EXPECT_NEAR(ours.upper, exact, 1e-13 + exact * 1e-11) << stddev << " " << shift;
        EXPECT_LE(ours.lower, ours.upper);
      }
    }
  }
}

// Every shift (a, b) of norm at most D in two dimensions.
double WorstInTwoDimensions(double stddev, double sensitivity, double epsilon) {
  const int last = static_cast<int>(9 * stddev) + 8;
  const std::vector<double> masses = Masses(stddev, last);
  const auto mass = [&](int k) {
    return k < -last || k > last ? 0.0 : masses[static_cast<size_t>(k + last)];
  };
  double worst = 0;
  const int reach = static_cast<int>(sensitivity);
  for (int a = 0; a <= reach; ++a) {
    for (int b = 0; b <= a; ++b) {
      if (a * a + b * b > sensitivity * sensitivity) continue;
      double sum = 0;
      for (int x = -last; x <= last; ++x) {
        for (int y = -last; y <= last; ++y) {
          sum += std::max(0.0, mass(x) * mass(y) - std::exp(epsilon) * mass(x - a) * mass(y - b));
        }
      }
      worst = std::max(worst, sum);
    }
  }
  return worst;
}

TEST(DiscreteGaussianMechanismTest, TwoCoordinatesAreBounded) {
  for (const double stddev : {0.5, 1.0, 2.5, 12.0}) {
    for (const double sensitivity : {1.0, 1.5, 3.7}) {
      for (const double epsilon : {0.0, 0.3, 1.0, 3.0}) {
        const double worst = WorstInTwoDimensions(stddev, sensitivity, epsilon);
        const Bounds ours =
            DiscreteGaussianProfileOf(GridL2Sensitivity(sensitivity), Noise(stddev, 2))
                .Delta(Epsilon(epsilon));
        // The sum ends at 9 sigma, where masses of 1e-19 are taken for certain differences.
        EXPECT_GE(ours.upper, worst * (1 - 1e-9) - 1e-18)
            << stddev << " " << sensitivity << " " << epsilon;
        EXPECT_LE(ours.lower, worst * (1 + 1e-9)) << stddev << " " << sensitivity << " " << epsilon;
        // At 12 grid units the gap to the continuous law is d/(8 s) = 2e-3 at most.
        if (stddev == 12.0 && sensitivity == 1.0) {
          EXPECT_LE(ours.upper, worst + 4e-3);
        }
      }
    }
  }
}

// On a fine grid the discrete mechanism is the continuous one, for every dimension.
TEST(DiscreteGaussianMechanismTest, FineGridsApproachTheContinuousMechanism) {
  for (const size_t dimension : {size_t{1}, size_t{65}, size_t{5000}}) {
    const double unit = 0x1p40;
    const Bounds continuous = GaussianDelta(L2Sensitivity(1), 4.5, Epsilon(1));
    const Bounds ours =
        DiscreteGaussianProfileOf(GridL2Sensitivity(unit), Noise(4.5 * unit, dimension))
            .Delta(Epsilon(1));
    EXPECT_GE(ours.upper, continuous.lower);
    EXPECT_NEAR(ours.upper / continuous.upper, 1, 1e-12);
    EXPECT_NEAR(ours.lower / continuous.upper, 1, 1e-9);
    const Bounds epsilon =
        DiscreteGaussianEpsilon(GridL2Sensitivity(unit), Noise(4.5 * unit, dimension), Delta(1e-6));
    EXPECT_NEAR(epsilon.upper / GaussianEpsilon(L2Sensitivity(1), 4.5, Delta(1e-6)).upper, 1,
                1e-10);
    EXPECT_LE(epsilon.lower, epsilon.upper);
    EXPECT_NEAR(epsilon.lower / epsilon.upper, 1, 1e-8);
  }
}

// The border between summation and integrals: both contain the truth, so they meet.
TEST(DiscreteGaussianMechanismTest, SumsAndIntegralsMeet) {
  const GridL2Sensitivity sensitivity(1000);
  const Bounds summed = DiscreteGaussianProfileOf(sensitivity, Noise(4096)).Delta(Epsilon(0.5));
  const Bounds bounded = DiscreteGaussianProfileOf(sensitivity, Noise(4097)).Delta(Epsilon(0.5));
  const Bounds continuous = GaussianDelta(L2Sensitivity(1000), 4096, Epsilon(0.5));
  EXPECT_NEAR(summed.upper / continuous.upper, 1, 1e-4);
  EXPECT_LE(summed.upper, summed.lower * (1 + 1e-12));
  EXPECT_LE(bounded.lower, summed.upper);
  EXPECT_GE(bounded.upper, 0.98 * summed.lower);
}

TEST(DiscreteGaussianMechanismTest, SumOfSharesByConvolution) {
  const double share = 4.25;
  const std::vector<double> one = Masses(share, 200);
  std::vector<double> sum = {1.0};
  for (int party = 0; party < 3; ++party) {
    std::vector<double> next(sum.size() + one.size() - 1, 0.0);
    for (size_t i = 0; i < sum.size(); ++i) {
      for (size_t j = 0; j < one.size(); ++j) next[i + j] += sum[i] * one[j];
    }
    sum = std::move(next);
  }
  const DiscreteGaussianNoise noise = {VarianceOfStddev(share), 3, 1};
  for (const double epsilon : {0.0, 0.2, 1.0}) {
    const double exact = HockeyStick(sum, 5, epsilon);
    const Bounds ours =
        DiscreteGaussianProfileOf(GridL2Sensitivity(5), noise).Delta(Epsilon(epsilon));
    EXPECT_NEAR(ours.upper / exact, 1, 1e-10);
    EXPECT_NEAR(ours.lower / exact, 1, 1e-10);
  }
}

TEST(DiscreteGaussianMechanismTest, SmallSharesAreRefused) {
  ExpectUsage([] { ShareGap(VarianceOfStddev(4), 2); });
  ExpectUsage([] {
    DiscreteGaussianProfileOf(GridL2Sensitivity(1), {VarianceOfStddev(1), 2, 1}).Delta(Epsilon(1));
  });
  EXPECT_EQ(ShareGap(VarianceOfStddev(1), 1), 0);
  const double gap = ShareGap(VarianceOfStddev(4.01), 1000);
  EXPECT_GT(gap, 0);
  EXPECT_LT(gap, 1e-60);
}

TEST(DiscreteGaussianMechanismTest, CalibrationMeetsTheBudgetClosely) {
  struct Budget {
    double sensitivity;
    size_t dimension;
    double epsilon;
    double delta;
  };
  for (const Budget& budget : std::vector<Budget>{{1, 1, 1, 1e-5},
                                                  {3, 1, 0.5, 1e-6},
                                                  {5, 20, 1, 1e-5},
                                                  {1e9, 65, 0.1, 1e-8},
                                                  {0x1p50, 65, 8, 1e-12}}) {
    SCOPED_TRACE(budget.sensitivity);
    const GridL2Sensitivity sensitivity(budget.sensitivity);
    const Epsilon epsilon(budget.epsilon);
    const GridVariance variance =
        CalibrateDiscreteGaussian(sensitivity, budget.dimension, epsilon, Delta(budget.delta));
    const DiscreteGaussianNoise noise = {variance, 1, budget.dimension};
    EXPECT_LE(DiscreteGaussianProfileOf(sensitivity, noise).Delta(epsilon).upper, budget.delta);
    const double less = StddevLowerBound(variance) * (1 - 1e-6);
    EXPECT_GT(
        DiscreteGaussianProfileOf(sensitivity, Noise(less, budget.dimension)).Delta(epsilon).upper,
        budget.delta);
    if (budget.sensitivity >= 1e9) {
      const double continuous =
          AnalyticGaussianStddev(L2Sensitivity(budget.sensitivity), epsilon, Delta(budget.delta));
      EXPECT_NEAR(StddevUpperBound(variance) / continuous, 1, 1e-6);
    }
  }
}

TEST(DiscreteGaussianMechanismTest, RefusesNonsense) {
  ExpectUsage(
      [] { DiscreteGaussianProfileOf(GridL2Sensitivity(0.5), Noise(10)).Delta(Epsilon(1)); });
  ExpectUsage(
      [] { DiscreteGaussianProfileOf(GridL2Sensitivity(1), Noise(10, 0)).Delta(Epsilon(1)); });
  ExpectUsage([] {
    DiscreteGaussianProfileOf(GridL2Sensitivity(1), {VarianceOfStddev(10), 0, 1}).Delta(Epsilon(1));
  });
  ExpectUsage([] { CalibrateDiscreteGaussian(GridL2Sensitivity(1), 0, Epsilon(1), Delta(1e-6)); });
  ExpectUsage(
      [] { CalibrateDiscreteGaussian(GridL2Sensitivity(0.1), 1, Epsilon(1), Delta(1e-6)); });
  // More noise than the grid holds.
  ExpectUsage(
      [] { CalibrateDiscreteGaussian(GridL2Sensitivity(0x1p99), 1, Epsilon(1e-6), Delta(1e-12)); });
}

TEST(DistributedNoiseTest, AnyRemainingSharesSuffice) {
  const GridVariance needed = VarianceOfStddev(1000);
  const DistributedNoise noise = ShareNoise(needed, {5, 2}, 7);
  EXPECT_EQ(Multiply(noise.share_variance, 3), needed);
  const DiscreteGaussianNoise remaining = RemainingNoise(noise, 2);
  EXPECT_EQ(remaining.shares, 3U);
  EXPECT_EQ(remaining.dimension, 7U);
  EXPECT_EQ(Multiply(remaining.share_variance, remaining.shares), needed);
  EXPECT_EQ(RemainingNoise(noise, 0).shares, 5U);
}

// Heikkila et al. 2017, Theorem 1: sigma_j^2 = s/(N - T - 1) protects a party among T + 1 who know
// their shares.
TEST(DistributedNoiseTest, StoredFactors) {
  std::ifstream file(FixturePath("references/dp_accounting.json"));
  ASSERT_TRUE(file);
  const auto json = nlohmann::json::parse(file);
  const auto& rows = json["tables"]["G_distributed_gaussian_factor"];
  ASSERT_EQ(rows.size(), 3U);
  for (const auto& row : rows) {
    const auto parties = row["inputs"]["N"].get<uint32_t>();
    const auto colluding = row["inputs"]["T"].get<uint32_t>();
    const GridVariance unit = VarianceOfStddev(0x1p20);
    const DistributedNoise noise = ShareNoise(unit, {parties, colluding + 1}, 1);
    const double share = StddevUpperBound(noise.share_variance) * 0x1p-20;
    EXPECT_NEAR(share * share / row["exact"]["sigma2_j"].get<double>(), 1, 1e-14);
    const double total = StddevUpperBound(Multiply(noise.share_variance, parties)) * 0x1p-20;
    const double factor = row["exact"]["extra_total_variance_factor_N/(N-T-1)"].get<double>();
    EXPECT_NEAR(total * total / factor, 1, 1e-14);
  }
}

TEST(DistributedNoiseTest, RefusesWhatCannotProtect) {
  ExpectUsage([] { ShareNoise(VarianceOfStddev(1000), {3, 3}, 1); });
  ExpectUsage([] { ShareNoise(VarianceOfStddev(1000), {0, 0}, 1); });
  ExpectUsage([] {
    ShareNoise(VarianceOfStddev(8), {4, 0}, 1);
  });  // shares of exactly 4 grid units
  ExpectUsage([] { RemainingNoise(ShareNoise(VarianceOfStddev(1000), {3, 1}, 1), 3); });
}

}  // namespace
}  // namespace partita::privacy::discrete_gaussian_mechanism_test
