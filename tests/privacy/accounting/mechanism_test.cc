#include "privacy/accounting/mechanism.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "privacy/accounting/normal.h"
#include "privacy/accounting/pld.h"

namespace partita::privacy::mechanism_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Interval DeltaAt(const Mechanism& mechanism, uint64_t uses, double epsilon) {
  return PldDelta({{mechanism, uses}}, epsilon, {}).value;
}

void ExpectContains(const Interval& interval, double truth, double relative_width) {
  EXPECT_LE(interval.lower, truth * (1 + 1e-12));
  EXPECT_GE(interval.upper, truth * (1 - 1e-12));
  EXPECT_LE(interval.upper - interval.lower, relative_width * interval.upper);
}

TEST(MechanismTest, LaplaceClosedForms) {
  for (double b : {0.3, 1.0, 4.0}) {
    for (double share : {0.0, 0.3, 0.9}) {
      const double epsilon = share / b;
      ExpectContains(DeltaAt(LaplaceMechanism(b, {}), 1, epsilon),
                     -std::expm1((epsilon - 1 / b) / 2), 1e-3);
      ExpectContains(DeltaAt(LaplaceMechanism(b, {Adjacency::kReplace, 1}), 1, 2 * epsilon),
                     -std::expm1((2 * epsilon - 2 / b) / 2), 1e-3);
    }
    // The pure guarantee, to the last digits.
    const PldResult pure = PldEpsilon({{LaplaceMechanism(b, {}), 1}}, 1e-12, {});
    EXPECT_NEAR(pure.value.upper, 1 / b, 1e-3 / b);
  }
}

// The profile of a sampled pair follows from the unsampled one (remove): delta'(log(1 + q(e^eps -
// 1))) = q delta(eps).
TEST(MechanismTest, AmplificationOfOneUse) {
  for (double rate : {0.001, 0.05, 0.7}) {
    const SamplingSpec spec{Adjacency::kAddRemove, rate};
    for (double epsilon : {0.2, 1.0, 2.5}) {
      const double sampled = std::log1p(rate * std::expm1(epsilon));
      const PldResult gaussian = PldDelta({{GaussianMechanism(1.1, spec), 1}}, sampled, {});
      ExpectContains(gaussian.forward, rate * GaussianDelta(1 / 1.1, epsilon), 2e-3);
      const PldResult laplace = PldDelta({{LaplaceMechanism(0.25, spec), 1}}, sampled, {});
      ExpectContains(laplace.forward, rate * -std::expm1((epsilon - 4) / 2), 2e-3);
      const PldResult response = PldDelta({{RandomisedResponse(3, spec), 1}}, sampled, {});
      const double bit = (std::exp(3.0) - std::exp(epsilon)) / (1 + std::exp(3.0));
      ExpectContains(response.forward, rate * bit, 2e-3);
    }
  }
}

// A discrete Gaussian with a large parameter is a Gaussian to within 1/sigma^2.
TEST(MechanismTest, WideDiscreteGaussians) {
  for (double sigma : {300.0, 9000.0, 1e5, 0x1p40}) {
    const uint64_t shift = static_cast<uint64_t>(sigma / 2);
    const double noise = sigma / static_cast<double>(shift);
    for (const SamplingSpec spec : {SamplingSpec{}, SamplingSpec{Adjacency::kAddRemove, 0.01},
                                    SamplingSpec{Adjacency::kReplace, 0.1}}) {
      const Interval discrete =
          PldEpsilon({{DiscreteGaussianMechanism(sigma, shift, spec), 50}}, 1e-6, {}).value;
      const Interval continuous =
          PldEpsilon({{GaussianMechanism(noise, spec), 50}}, 1e-6, {}).value;
      EXPECT_NEAR(discrete.upper, continuous.upper, 2e-3 * continuous.upper + 1 / (sigma * sigma))
          << sigma;
      EXPECT_NEAR(discrete.lower, continuous.lower, 2e-3 * continuous.upper + 1 / (sigma * sigma))
          << sigma;
    }
  }
}

// The sum of shares: by convolution and by the theorem where both can, and not a discrete Gaussian
// where small.
TEST(MechanismTest, SumsOfDiscreteGaussians) {
  const Interval below =
      PldEpsilon({{DiscreteGaussianSumMechanism(1.999, 10, 1, {}), 5}}, 1e-6, {}).value;
  const Interval above =
      PldEpsilon({{DiscreteGaussianSumMechanism(2.001, 10, 1, {}), 5}}, 1e-6, {}).value;
  EXPECT_NEAR(below.upper / above.upper, 2.001 / 1.999, 1e-3);
  const Interval one = PldEpsilon({{DiscreteGaussianSumMechanism(3, 1, 1, {}), 5}}, 1e-6, {}).value;
  EXPECT_EQ(one.upper,
            PldEpsilon({{DiscreteGaussianMechanism(3, 1, {}), 5}}, 1e-6, {}).value.upper);
  // Two shares of 0.4: pmf by hand.
  const auto pmf = [](double sigma) {
    std::vector<double> values;
    double sum = 0;
    for (int k = -30; k <= 30; ++k) {
      values.push_back(std::exp(-k * k / (2 * sigma * sigma)));
      sum += values.back();
    }
    for (double& value : values) value /= sum;
    return values;
  };
  const std::vector<double> share = pmf(0.4);
  std::vector<double> p(123, 0.0), q(123, 0.0);
  for (int a = 0; a < 61; ++a) {
    for (int b = 0; b < 61; ++b) {
      q[static_cast<size_t>(a + b)] +=
          share[static_cast<size_t>(a)] * share[static_cast<size_t>(b)];
      p[static_cast<size_t>(a + b + 1)] +=
          share[static_cast<size_t>(a)] * share[static_cast<size_t>(b)];
    }
  }
  double hockey = 0;
  for (size_t k = 0; k < p.size(); ++k) hockey += std::max(0.0, p[k] - std::exp(3.0) * q[k]);
  ExpectContains(DeltaAt(DiscreteGaussianSumMechanism(0.4, 2, 1, {}), 1, 3.0), hockey, 1e-3);
  const Interval alone = DeltaAt(DiscreteGaussianMechanism(0.4 * std::sqrt(2.0), 1, {}), 1, 3.0);
  EXPECT_GT(std::abs(alone.upper / hockey - 1), 1e-3);
}

TEST(MechanismTest, DiscreteLaplace) {
  // delta(eps) = sum over k of (f(k - s) - e^eps f(k))_+.
  for (const auto& [scale, shift] :
       {std::pair{2.0, 3}, std::pair{50.0, 20}, std::pair{400.0, 100}}) {
    const double r = std::exp(-1 / scale), all = (1 - r) / (1 + r);
    for (double share : {0.0, 0.5, 0.95}) {
      const double epsilon = share * shift / scale;
      double hockey = 0;
      for (int k = -40 * static_cast<int>(scale); k <= 40 * static_cast<int>(scale); ++k)
        hockey += std::max(0.0, all * (std::pow(r, std::abs(k - shift)) -
                                       std::exp(epsilon) * std::pow(r, std::abs(k))));
      const Interval interval =
          DeltaAt(DiscreteLaplaceMechanism(scale, static_cast<uint64_t>(shift), {}), 1, epsilon);
      EXPECT_LE(interval.lower, hockey * (1 + 1e-10));
      EXPECT_GE(interval.upper, hockey * (1 - 1e-10));
      EXPECT_LE(interval.upper - interval.lower, 1e-3 * interval.upper);
    }
  }
}

TEST(MechanismTest, AnyPairOfDistributionFunctions) {
  const auto normal = [](double mean) {
    return LineLaw{[mean](double x) { return NormalUpperTail(mean - x); },
                   [mean](double x) { return NormalUpperTail(x - mean); }};
  };
  const Mechanism mechanism =
      DistributionMechanism({normal(0.8), normal(0), -11, 12, 1e-14}, 4000, "normal shift");
  for (uint64_t uses : {1u, 10u}) {
    const Interval interval = DeltaAt(mechanism, uses, 1.0);
    const double truth = GaussianDelta(0.8 * std::sqrt(static_cast<double>(uses)), 1.0);
    EXPECT_LE(interval.lower, truth);
    EXPECT_GE(interval.upper, truth);
    EXPECT_LT(interval.upper - interval.lower, 1e-2 * truth);
  }
  // The wrong order of the line is noticed.
  EXPECT_THROW(DistributionMechanism({normal(0), normal(0.8), -11, 12, 1e-14}, 4000, "falling"),
               Error);
  EXPECT_THROW(DistributionMechanism({normal(1), normal(0), 5, 5, 1e-14}, 4000, "empty"), Error);
  LineLaw improper = normal(0);
  improper.survival = [](double) { return 0.2; };
  EXPECT_THROW(DistributionMechanism({normal(1), improper, -11, 12, 1e-14}, 4000, "improper"),
               Error);
}

// Outputs that only one law has, at an end of the line, count in full.
TEST(MechanismTest, AtomsAtTheEndsOfALine) {
  const auto uniform = [](double atom) {  // an atom at -infinity, the rest uniform on (0, 1)
    return LineLaw{[atom](double x) { return atom + (1 - atom) * std::clamp(x, 0.0, 1.0); },
                   [atom](double x) { return (1 - atom) * (1 - std::clamp(x, 0.0, 1.0)); }};
  };
  const Mechanism mechanism =
      DistributionMechanism({uniform(0), uniform(0.25), 0, 1, 1e-15}, 100, "atom");
  const PldResult result = PldDelta({{mechanism, 1}}, 1.0, {});
  EXPECT_GE(result.backward.upper, 0.25);
  EXPECT_NEAR(result.backward.upper, 0.25, 0.02);
}

TEST(MechanismTest, PmfsWithImpossibleOutputs) {
  const std::vector<double> p = {0.1, 0.5, 0.4}, q = {0, 0.5, 0.5};
  const PldResult result = PldDelta({{PmfMechanism(p, q, "leak"), 3}}, 1.0, {});
  EXPECT_NEAR(result.forward.lower, 1 - std::pow(0.9, 3), 1e-12);
  EXPECT_NEAR(result.forward.upper, 1 - std::pow(0.9, 3), 1e-12);
  EXPECT_TRUE(std::isinf(PldEpsilon({{PmfMechanism(p, q, "leak"), 3}}, 0.2, {}).value.upper));
  EXPECT_TRUE(std::isinf(PldEpsilon({{PmfMechanism(p, q, "leak"), 3}}, 0.2, {}).value.lower));
  // Equal laws reveal nothing.
  EXPECT_EQ(PldEpsilon({{PmfMechanism(q, q, "nothing"), 5}}, 1e-9, {}).value.lower, 0);
  EXPECT_LT(PldEpsilon({{PmfMechanism(q, q, "nothing"), 5}}, 1e-9, {}).value.upper, 1e-6);
}

TEST(MechanismTest, BadParametersAreRefused) {
  for (double bad : {0.0, -1.0, kNan, kInf}) {
    EXPECT_THROW(GaussianMechanism(bad, {}), Error) << bad;
    EXPECT_THROW(LaplaceMechanism(bad, {}), Error) << bad;
    EXPECT_THROW(DiscreteGaussianMechanism(bad, 1, {}), Error) << bad;
    EXPECT_THROW(DiscreteLaplaceMechanism(bad, 1, {}), Error) << bad;
    EXPECT_THROW(RandomisedResponse(bad, {}), Error) << bad;
  }
  for (double bad : {-0.1, 0.0, 1.1, kNan}) {
    EXPECT_THROW(GaussianMechanism(1, {Adjacency::kAddRemove, bad}), Error) << bad;
    EXPECT_THROW(SampledPmfMechanism(std::vector{0.5, 0.5}, std::vector{0.1, 0.9}, bad, "x"), Error)
        << bad;
  }
  EXPECT_THROW(DiscreteGaussianMechanism(1, 0, {}), Error);
  EXPECT_THROW(DiscreteGaussianMechanism(0x1p50, 1, {}), Error);
  EXPECT_THROW(DiscreteGaussianSumMechanism(1, 0, 1, {}), Error);
  EXPECT_THROW(DiscreteGaussianSumMechanism(1, 100'000, 1, {}), Error);
  EXPECT_THROW(RandomisedResponse(1, {Adjacency::kReplace, 0.5}), Error);
  EXPECT_THROW(ApproximateDpMechanism({-1, 0}), Error);
  EXPECT_THROW(ApproximateDpMechanism({1, 1}), Error);
  EXPECT_THROW(PmfMechanism(std::vector{0.5, 0.4}, std::vector{0.5, 0.5}, "short"), Error);
  EXPECT_THROW(PmfMechanism(std::vector{1.0}, std::vector{0.5, 0.5}, "unlike"), Error);
  EXPECT_THROW(PmfMechanism(std::vector{-0.5, 1.5}, std::vector{0.5, 0.5}, "negative"), Error);
  EXPECT_THROW(PmfMechanism(std::vector{kNan, 1.0}, std::vector{0.5, 0.5}, "nan"), Error);
  EXPECT_THROW(PmfMechanism({}, {}, "empty"), Error);
}

}  // namespace
}  // namespace partita::privacy::mechanism_test
