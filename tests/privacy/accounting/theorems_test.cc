#include "base/error.h"
#include "privacy/accounting/composition_theorems.h"
#include "privacy/accounting/pld.h"
#include "tests/privacy/accounting/reference_data.h"

namespace partita::privacy::testing::theorems_test {
namespace {

TEST(TheoremsTest, BasicAndAdvanced) {
  const EpsilonDelta basic = BasicComposition({0.1, 1e-6}, 100);
  EXPECT_NEAR(basic.epsilon, 10, 1e-12);
  EXPECT_NEAR(basic.delta, 1e-4, 1e-18);
  const EpsilonDelta advanced = AdvancedComposition({0.1, 0}, 100, 1e-5);
  EXPECT_NEAR(advanced.epsilon, 0.1 * std::sqrt(200 * std::log(1e5)) + 10 * std::expm1(0.1), 1e-12);
  // A theorem about every mechanism holds for the worst one.
  const Interval worst =
      PldDelta({{ApproximateDpMechanism({0.1, 0}), 100}}, advanced.epsilon, {}).value;
  EXPECT_LE(worst.lower, 1e-5);
}

TEST(TheoremsTest, OptimalCompositionTable) {
  for (const auto& row : Table("D_epsdelta_homogeneous_optimal_composition")) {
    const auto& in = row["inputs"];
    const double exact = row["exact"]["total_delta"];
    EXPECT_NEAR(
        OptimalCompositionDelta({in["epsilon"], in["delta"]}, in["k"], in["target_epsilon"]), exact,
        1e-9 * exact + 1e-15)
        << in;
  }
}

TEST(TheoremsTest, CentralLimitTable) {
  for (const auto& row : Table("D_clt_mu")) {
    const auto& in = row["inputs"];
    EXPECT_NEAR(CltMuPoisson(in["sigma"], in["q"], in["T"]),
                row["exact"]["mu_clt_poisson"].get<double>(), 1e-10);
    EXPECT_NEAR(CltMuUniform(in["sigma"], in["q"], in["T"]),
                row["exact"]["mu_clt_uniform"].get<double>(), 1e-10);
  }
}

// Unlike guarantees, against enumeration: 2 uses of one, 1 of another.
TEST(TheoremsTest, HeterogeneousOptimalComposition) {
  const double a = 0.3, b = 1.1, target = 0.5;
  double delta = 0;
  for (int x : {-1, 1})
    for (int y : {-1, 1})
      for (int z : {-1, 1}) {
        const double loss = a * (x + y) + b * z;
        const double p =
            1 / (1 + std::exp(-a * x)) / (1 + std::exp(-a * y)) / (1 + std::exp(-b * z));
        if (loss > target) delta += p * -std::expm1(target - loss);
      }
  const PldResult result = PldDelta(
      {{ApproximateDpMechanism({a, 0}), 2}, {ApproximateDpMechanism({b, 0}), 1}}, target, {});
  EXPECT_LE(result.value.lower, delta);
  EXPECT_GE(result.value.upper, delta);
  EXPECT_LT(result.value.upper - result.value.lower, 1e-2 * delta);
}

TEST(TheoremsTest, BadInput) {
  EXPECT_THROW(BasicComposition({-1, 0}, 1), Error);
  EXPECT_THROW(BasicComposition({1, 2}, 1), Error);
  EXPECT_THROW(BasicComposition({1, 0}, 0), Error);
  EXPECT_THROW(AdvancedComposition({1, 0}, 1, 0), Error);
  EXPECT_THROW(OptimalCompositionDelta({1, 0}, 10'000'000, 1), Error);
  EXPECT_THROW(CltMuPoisson(1, 2, 1), Error);
}

}  // namespace
}  // namespace partita::privacy::testing::theorems_test
