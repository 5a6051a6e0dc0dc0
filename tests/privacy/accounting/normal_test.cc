#include "privacy/accounting/normal.h"

#include <cmath>
#include <random>

#include "tests/privacy/accounting/precise.h"
#include "tests/privacy/accounting/reference_data.h"

namespace partita::privacy::testing::normal_test {
namespace {

// Every mass lies within its own stated error, for short and long, near and far, shifted intervals.
TEST(NormalTest, MassesAreWithinTheirStatedError) {
  std::mt19937_64 random(5);
  double worst_error = 0;
  for (int i = 0; i < 4000; ++i) {
    const double a = std::uniform_real_distribution<double>(-12, 12)(random);
    const double width =
        std::exp(std::uniform_real_distribution<double>(std::log(1e-9), std::log(20.0))(random));
    const double b = a + width,
                 shift = i % 3 == 0 ? 0 : std::uniform_real_distribution<double>(-3, 3)(random);
    const Mass mass = NormalMass(a, b, shift);
    const Real low = Real(a) - Real(shift), high = Real(b) - Real(shift);
    const double truth = (NormalTail(low) - NormalTail(high)).ToDouble();
    ASSERT_NEAR(mass.value, truth, mass.error * truth) << a << " " << b << " " << shift;
    if (std::abs(a - shift) < 6) worst_error = std::max(worst_error, mass.error);
  }
  EXPECT_LT(worst_error, 1e-12);
}

TEST(NormalTest, EndsAndTails) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(NormalMass(-inf, inf).value, 1);
  EXPECT_EQ(NormalMass(1, 1).value, 0);
  EXPECT_EQ(NormalMass(2, 1).value, 0);
  EXPECT_NEAR(NormalMass(-inf, 0).value, 0.5, 1e-16);
  EXPECT_GT(NormalMass(30, inf).value, 0);
  for (double p : {1e-300, 1e-20, 0.1, 0.5, 0.9})
    EXPECT_NEAR(NormalUpperTail(NormalUpperQuantile(p)) / p, 1, 1e-11);
  EXPECT_NEAR(LogNormalUpperTail(20), std::log(NormalUpperTail(20)), 1e-12);
  EXPECT_NEAR(LogNormalUpperTail(31), std::log(NormalUpperTail(31)), 1e-9);
}

TEST(NormalTest, GaussianDeltaTable) {
  for (const auto& row : Table("C_gaussian_delta")) {
    const double mu =
        row["inputs"]["sensitivity"].get<double>() / row["inputs"]["sigma"].get<double>();
    const double exact = Number(row["exact"]["delta"]);
    if (exact < 1e-290) continue;  // denormal
    EXPECT_NEAR(GaussianDelta(mu, row["inputs"]["epsilon"]), exact, Near(row, exact))
        << row["inputs"];
  }
  for (const auto& row : Table("C_gaussian_calibration")) {
    const auto& in = row["inputs"];
    const double exact = Number(row["exact"]["sigma_analytic"]);
    EXPECT_NEAR(in["sensitivity"].get<double>() / GaussianMu(in["epsilon"], in["delta"]), exact,
                1e-9 * exact)
        << in;
  }
  for (const auto& row : Table("D_gdp_to_epsdelta")) {
    EXPECT_NEAR(GaussianDelta(row["inputs"]["mu"], row["inputs"]["epsilon"]), Number(row["exact"]),
                5e-12);
  }
  for (const auto& row : Table("D_gdp_epsilon_for_delta")) {
    EXPECT_NEAR(GaussianEpsilon(row["inputs"]["mu"], row["inputs"]["delta"]),
                Number(row["exact"]["epsilon"]), 1e-10);
  }
}

TEST(NormalTest, GaussianDeltaFarOut) {
  for (double mu : {0.01, 0.3, 1.0, 8.0}) {
    for (double z : {0.0, 3.0, 10.0, 25.0}) {
      const double epsilon = mu * mu / 2 + mu * z;
      const double truth = GaussianDelta256(Real(mu), Real(epsilon)).ToDouble();
      EXPECT_NEAR(GaussianDelta(mu, epsilon) / truth, 1, 1e-9) << mu << " " << epsilon;
    }
  }
}

// Epsilon is mu^2 / 2, to which the quantile adds mu z: on both sides of where that is enough.
TEST(NormalTest, GaussianEpsilonOfHugeMu) {
  for (const double mu : {0.999e6, 1.001e6, 1e9, 1e19, 1e150}) {
    const double plain = mu * mu / 2 + mu * NormalUpperQuantile(1e-6);
    EXPECT_NEAR(GaussianEpsilon(mu, 1e-6), plain, 1e-10 * plain) << mu;
  }
  EXPECT_EQ(GaussianEpsilon(HUGE_VAL, 1e-6), HUGE_VAL);
}

}  // namespace
}  // namespace partita::privacy::testing::normal_test
