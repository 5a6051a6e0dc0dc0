#include "privacy/accounting/trade_off.h"

#include "base/error.h"
#include "privacy/accounting/normal.h"
#include "tests/privacy/accounting/reference_data.h"
#include "tests/privacy/accounting/trade_offs.h"

namespace partita::privacy::testing::trade_off_test {
namespace {

TEST(TradeOffTest, ExactCurvesOfTheTable) {
  for (const auto& row : Table("D_gdp"))
    EXPECT_NEAR(GaussianTradeOff(row["inputs"]["mu"]).beta(row["inputs"]["alpha"]),
                Number(row["exact"]), 5e-12);
  for (const auto& row : Table("D_lap"))
    EXPECT_NEAR(LaplaceTradeOff(row["inputs"]["mu"]).beta(row["inputs"]["alpha"]),
                Number(row["exact"]), 5e-12);
  for (const auto& row : Table("D_epsdelta")) {
    const auto& in = row["inputs"];
    EXPECT_NEAR(EpsilonDeltaTradeOff({in["epsilon"], in["delta"]}).beta(in["alpha"]),
                Number(row["exact"]), 5e-12);
  }
}

TEST(TradeOffTest, PowerKeepsItsDigitsWhereAlphaIsSmall) {
  for (double alpha : {1e-300, 1e-30, 1e-12}) {
    EXPECT_GT(GaussianTradeOff(1).power(alpha), 2 * alpha);
    EXPECT_NEAR(LaplaceTradeOff(1).power(alpha) / alpha, std::exp(1), 1e-12);
    EXPECT_NEAR(EpsilonDeltaTradeOff({1, 0}).power(alpha) / alpha, std::exp(1), 1e-12);
    EXPECT_NEAR(EpsilonDeltaTradeOff({0, 0}).power(alpha) / alpha, 1, 1e-12);
  }
  EXPECT_EQ(GaussianTradeOff(1).power(0), 0);
  EXPECT_EQ(GaussianTradeOff(1).beta(1), 0);
}

TEST(TradeOffTest, Shapes) {
  for (const TradeOff& f :
       {GaussianTradeOff(1.2), LaplaceTradeOff(0.8), EpsilonDeltaTradeOff({0.5, 0.05})}) {
    EXPECT_TRUE(LooksLikeTradeOff(f)) << f.name;
  }
  const TradeOff not_convex{CurveSide::kExact, "bent",
                            [](double a) { return a < 0.5 ? 0.45 : 0.0; },
                            [](double a) { return a < 0.5 ? 0.55 : 1.0; }};
  EXPECT_FALSE(LooksLikeTradeOff(not_convex));
}

TEST(TradeOffTest, ProfilesAndCurvesConvert) {
  for (double epsilon : {0.0, 0.5, 2.0}) {
    EXPECT_NEAR(DeltaOf(GaussianTradeOff(1.1), epsilon), GaussianDelta(1.1, epsilon), 1e-9);
    EXPECT_NEAR(DeltaOf(LaplaceTradeOff(1), epsilon),
                epsilon < 1 ? -std::expm1((epsilon - 1) / 2) : 0, 1e-9);
    EXPECT_NEAR(DeltaOf(EpsilonDeltaTradeOff({0.7, 0.01}), 0.7), 0.01, 1e-9);
  }
  EXPECT_NEAR(AttackAdvantage(GaussianTradeOff(1)), 2 * NormalUpperTail(-0.5) - 1, 1e-9);
  EXPECT_NEAR(GaussianTradeOff(1).power(0.05), NormalUpperTail(NormalUpperQuantile(0.05) - 1),
              1e-14);
}

// The tensor product of Gaussians is a Gaussian: our envelopes enclose it, and nearly touch.
TEST(TradeOffTest, EnvelopesOfACompositionEncloseTheTruth) {
  Mechanism mechanism = GaussianMechanism(10, {});
  mechanism.gaussian_mu = 0;  // so that the accountant really composes
  const std::vector<Event> events = {{mechanism, 100}};
  const std::vector<double> epsilons = ShowingEpsilons(events, 60);
  const std::vector<ProfilePoint> profile = Profile(events, epsilons);
  const TradeOff lower = LowerTradeOff(profile), upper = UpperTradeOff(profile),
                 truth = GaussianTradeOff(1);
  EXPECT_EQ(lower.side, CurveSide::kLower);
  EXPECT_EQ(upper.side, CurveSide::kUpper);
  EXPECT_TRUE(LooksLikeTradeOff(lower));
  for (double alpha = 1e-6; alpha < 1; alpha = alpha < 0.01 ? alpha * 3 : alpha + 0.02) {
    EXPECT_LE(lower.beta(alpha), truth.beta(alpha) + 1e-12) << alpha;
    EXPECT_GE(upper.beta(alpha), truth.beta(alpha) - 1e-12) << alpha;
    EXPECT_LT(upper.beta(alpha) - lower.beta(alpha), 0.05) << alpha;
  }
}

TEST(TradeOffTest, BadInput) {
  EXPECT_THROW(GaussianTradeOff(-1), Error);
  EXPECT_THROW(GaussianTradeOff(std::nan("")), Error);
  EXPECT_THROW(GaussianTradeOff(1).beta(1.5), Error);
  EXPECT_THROW(GaussianTradeOff(1).beta(std::nan("")), Error);
  EXPECT_THROW(GaussianTradeOff(1).power(-0.1), Error);
  EXPECT_THROW(LowerTradeOff({}), Error);
  EXPECT_THROW(LowerTradeOff({{1, {0.1, 0.2}}, {0.5, {0.05, 0.1}}}), Error);  // epsilons fall
  EXPECT_THROW(LowerTradeOff({{0, {0.1, 0.2}}, {0.5, {0.3, 0.4}}}), Error);   // deltas rise
  EXPECT_THROW(LowerTradeOff({{0, {0.3, 0.2}}}), Error);                      // ends exchanged
}

}  // namespace
}  // namespace partita::privacy::testing::trade_off_test
