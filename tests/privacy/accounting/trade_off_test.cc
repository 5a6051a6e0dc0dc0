#include "privacy/accounting/trade_off.h"

#include "base/error.h"
#include "privacy/accounting/normal.h"
#include "tests/privacy/accounting/reference_data.h"

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
  for (const auto& row : Table("D_subsampled_gdp")) {
    const auto& in = row["inputs"];
    const TradeOff f = GaussianTradeOff(in["mu"]);
    EXPECT_NEAR(SampledTwoSided(f, in["p"]).beta(in["alpha"]),
                row["exact"]["Cp_two_sided"].get<double>(), 1e-10)
        << in;
    EXPECT_NEAR(SampledOneSided(f, in["p"]).beta(in["alpha"]),
                row["exact"]["one_sided_p_G_plus_(1-p)Id"].get<double>(), 1e-10)
        << in;
  }
}

TEST(TradeOffTest, EstimationFromPoints) {
  const auto row = Table("D_fdp_estimation")[0];
  std::vector<OperatingPoint> points;
  for (size_t i = 0; i < row["inputs"]["alpha"].size(); ++i)
    points.push_back({row["inputs"]["alpha"][i], row["inputs"]["beta"][i]});
  EXPECT_NEAR(MuThrough(points), row["outputs"]["est_gdp_dp2"].get<double>(), 0.0101);
  EXPECT_NEAR(EpsilonThrough(points, 0.01),
              row["outputs"]["est_epsdelta(delta=0.01)"]["epsilon"].get<double>(), 0.0101);
  EXPECT_NEAR(DeltaThrough(points, 0.3),
              row["outputs"]["est_epsdelta(epsilon=0.3)"]["delta"].get<double>(), 0.0101);
  // The answers do what they say: the curve is below every point, and would not be with less.
  const double mu = MuThrough(points), epsilon = EpsilonThrough(points, 0.01);
  double touch = 1;
  for (const OperatingPoint& point : points) {
    EXPECT_LE(GaussianTradeOff(mu).beta(point.alpha), point.beta + 1e-12);
    EXPECT_LE(EpsilonDeltaTradeOff({epsilon, 0.01}).beta(point.alpha), point.beta + 1e-12);
    if (point.alpha > 0 && point.alpha < 1)
      touch = std::min(touch, point.beta - GaussianTradeOff(mu).beta(point.alpha));
  }
  EXPECT_NEAR(touch, 0, 1e-10);
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

TEST(TradeOffTest, ShapesInversesAndSymmetry) {
  for (const TradeOff& f :
       {GaussianTradeOff(1.2), LaplaceTradeOff(0.8), EpsilonDeltaTradeOff({0.5, 0.05}),
        SampledTwoSided(GaussianTradeOff(2), 0.3), SampledOneSided(GaussianTradeOff(2), 0.3)}) {
    EXPECT_TRUE(LooksLikeTradeOff(f)) << f.name;
  }
  const TradeOff g = GaussianTradeOff(1.2), one = SampledOneSided(GaussianTradeOff(2), 0.3);
  for (double alpha = 0.01; alpha < 1; alpha += 0.01) {
    EXPECT_NEAR(Inverse(g).beta(alpha), g.beta(alpha), 1e-12);      // symmetric
    EXPECT_NEAR(Inverse(one).beta(one.beta(alpha)), alpha, 1e-11);  // not symmetric, but inverse
    // Symmetrising by supporting lines gives Dong, Roth & Su's closed form, from below.
    EXPECT_LE(Symmetrised(one).beta(alpha),
              SampledTwoSided(GaussianTradeOff(2), 0.3).beta(alpha) + 1e-9);
  }
  EXPECT_NEAR(Symmetrised(one).beta(0.4), SampledTwoSided(GaussianTradeOff(2), 0.3).beta(0.4),
              0.03);
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
  EXPECT_NEAR(AttackPower(GaussianTradeOff(1), 0.05),
              NormalUpperTail(NormalUpperQuantile(0.05) - 1), 1e-14);
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
  const double mu = MuOf(profile);
  EXPECT_GE(mu, 1 - 1e-3);
  EXPECT_LT(mu, 1.2);
}

TEST(TradeOffTest, BadInput) {
  EXPECT_THROW(GaussianTradeOff(-1), Error);
  EXPECT_THROW(GaussianTradeOff(std::nan("")), Error);
  EXPECT_THROW(GaussianTradeOff(1).beta(1.5), Error);
  EXPECT_THROW(GaussianTradeOff(1).beta(std::nan("")), Error);
  EXPECT_THROW(AttackPower(GaussianTradeOff(1), -0.1), Error);
  EXPECT_THROW(LowerTradeOff({}), Error);
  EXPECT_THROW(LowerTradeOff({{1, {0.1, 0.2}}, {0.5, {0.05, 0.1}}}), Error);  // epsilons fall
  EXPECT_THROW(LowerTradeOff({{0, {0.1, 0.2}}, {0.5, {0.3, 0.4}}}), Error);   // deltas rise
  EXPECT_THROW(LowerTradeOff({{0, {0.3, 0.2}}}), Error);                      // ends exchanged
  EXPECT_THROW(Symmetrised(UpperTradeOff({{0, {0.1, 0.2}}})), Error);
  const std::vector<OperatingPoint> above = {{0.5, 0.7}}, rising = {{0.2, 0.3}, {0.4, 0.35}},
                                    bent = {{0.2, 0.7}, {0.25, 0.2}, {0.3, 0.19}, {0.9, 0.05}};
  EXPECT_THROW(PiecewiseLinear(above), Error);
  EXPECT_THROW(MuThrough(rising), Error);
  EXPECT_THROW(PiecewiseLinear(bent), Error);
  EXPECT_THROW(EpsilonThrough(above, 0.01), Error);
}

}  // namespace
}  // namespace partita::privacy::testing::trade_off_test
