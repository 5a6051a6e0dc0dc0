#include "privacy/accounting/pld.h"
#include "tests/privacy/accounting/reference_data.h"

namespace partita::privacy::testing::theorems_test {
namespace {

// Dwork, Rothblum & Vadhan 2010, a theorem about every mechanism, holds for the worst one.
TEST(TheoremsTest, AdvancedComposition) {
  const double epsilon = 0.1 * std::sqrt(200 * std::log(1e5)) + 10 * std::expm1(0.1);
  EXPECT_LE(PldDelta({{ApproximateDpMechanism({0.1, 0}), 100}}, epsilon, {}).value.lower, 1e-5);
}

TEST(TheoremsTest, CentralLimitTable) {
  for (const auto& row : Table("D_clt_mu")) {
    const auto& in = row["inputs"];
    const Mechanism step = GaussianMechanism(in["sigma"], {Adjacency::kAddRemove, in["q"]});
    EXPECT_NEAR(step.clt_mu * std::sqrt(in["T"].get<double>()),
                row["exact"]["mu_clt_poisson"].get<double>(), 1e-10);
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

}  // namespace
}  // namespace partita::privacy::testing::theorems_test
