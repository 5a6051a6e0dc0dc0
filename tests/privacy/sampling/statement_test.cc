// Privacy statements: who faces which noise, what the sentence says, and that no rendering loses an
// infinity.
#include "privacy/statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "privacy/sampling/release_statement.h"
#include "tests/privacy/sampling/expect_error.h"

namespace partita::privacy::statement_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kUnit = 0x1p40;

GaussianRelease Release(EngineStructure engine, uint32_t known) {
  return {{"north", "south", "west"},
          ShareNoise(VarianceOfStddev(6 * kUnit), {3, known}, 10),
          engine,
          Adjacency::kAddRemove,
          GridL2Sensitivity(kUnit),
          GridL2Sensitivity(2 * kUnit),
          Delta(1e-6),
          0};
}

double EpsilonAt(double sensitivity, double stddev) {
  return GaussianEpsilon(L2Sensitivity(sensitivity), stddev, Delta(1e-6)).upper;
}

TEST(ReleaseStatementTest, EveryAdversaryFacesTheNoiseItDoesNotKnow) {
  const Statement statement = StateRelease(Release(EngineStructure::kDealer, 1));
  // Shares of 36/2: all three are 54, two are 36, one is 18.
  ASSERT_EQ(statement.rows.size(), 7U);
  const auto expect = [&](size_t row, AdversaryKind kind, Adjacency adjacency, double epsilon) {
    EXPECT_EQ(statement.rows[row].adversary.kind, kind);
    EXPECT_EQ(statement.rows[row].adjacency, adjacency);
    EXPECT_FALSE(statement.rows[row].loss.infinite);
    EXPECT_NEAR(statement.rows[row].loss.epsilon_upper / epsilon, 1, 1e-9) << row;
    EXPECT_NEAR(statement.rows[row].loss.epsilon_lower / epsilon, 1, 1e-6) << row;
    EXPECT_EQ(statement.rows[row].loss.delta, 1e-6);
  };
  expect(0, AdversaryKind::kOutsideAnalyst, Adjacency::kAddRemove, EpsilonAt(1, std::sqrt(54.0)));
  for (size_t party = 0; party < 3; ++party) {
    expect(1 + party, AdversaryKind::kParty, Adjacency::kReplace, EpsilonAt(2, 6));
  }
  EXPECT_EQ(statement.rows[1].adversary.party, "north");
  EXPECT_EQ(statement.rows[3].adversary.party, "west");
  expect(4, AdversaryKind::kCoalition, Adjacency::kReplace, EpsilonAt(2, std::sqrt(18.0)));
  EXPECT_EQ(statement.rows[4].adversary.size, 2U);
  expect(5, AdversaryKind::kDealer, Adjacency::kAddRemove, EpsilonAt(1, std::sqrt(54.0)));
  EXPECT_TRUE(statement.rows[6].adversary.with_dealer);
  EXPECT_TRUE(statement.rows[6].loss.infinite);
}

TEST(ReleaseStatementTest, ReplicatedEngineFallsToTwo) {
  const Statement statement = StateRelease(Release(EngineStructure::kReplicated, 1));
  ASSERT_EQ(statement.rows.size(), 5U);
  EXPECT_FALSE(statement.rows[1].loss.infinite);
  EXPECT_EQ(statement.rows[4].adversary.size, 2U);
  EXPECT_TRUE(statement.rows[4].loss.infinite);
}

// Two of three are no minority; one is.
TEST(ReleaseStatementTest, AnHonestMajorityFallsToHalf) {
  const Statement statement = StateRelease(Release(EngineStructure::kHonestMajority, 1));
  ASSERT_EQ(statement.rows.size(), 5U);
  for (size_t party = 1; party <= 3; ++party) EXPECT_FALSE(statement.rows[party].loss.infinite);
  EXPECT_EQ(statement.rows[4].adversary.size, 2U);
  EXPECT_TRUE(statement.rows[4].loss.infinite);
  EXPECT_EQ(statement.rows[4].reason,
            "the engine withstands fewer than half of the parties: together they open every input");
  for (uint32_t parties = 3; parties <= 7; ++parties) {
    const uint32_t most = (parties - 1) / 2;
    EXPECT_TRUE(Withstands(EngineStructure::kHonestMajority, most, parties));
    EXPECT_FALSE(Withstands(EngineStructure::kHonestMajority, most + 1, parties));
  }
}

// Seven parties of whom two may pool what they have, where three could.
TEST(ReleaseStatementTest, AThresholdBelowHalf) {
  constexpr EngineStructure kTwo = EngineStructure::Threshold(2);
  EXPECT_TRUE(Withstands(kTwo, 2, 7));
  EXPECT_FALSE(Withstands(kTwo, 3, 7));
  EXPECT_FALSE(Withstands(kTwo, 2, 4));  // no minority, whatever was asked for
  EXPECT_EQ(BeyondThreshold(kTwo),
            "the engine withstands 2 of the parties: together they open every input");
}

TEST(ReleaseStatementTest, SingleNoiseGiverKnowsItAll) {
  GaussianRelease release = Release(EngineStructure::kDealer, 0);
  release.parties = {"north"};
  release.noise = ShareNoise(VarianceOfStddev(6 * kUnit), {1, 0}, 10);
  const Statement statement = StateRelease(release);
  EXPECT_FALSE(statement.rows[0].loss.infinite);
  EXPECT_TRUE(statement.rows[1].loss.infinite);
}

// beta(5 %) of the Gaussian with mu = D / sigma is Phi(z - mu); ours is a lower bound and nearly
// that.
TEST(ReleaseStatementTest, GuessesFollowTheGaussianCurve) {
  const boost::math::normal normal;
  for (const double mu : {0.05, 0.3, 1.0, 2.0, 4.0}) {
    const DiscreteGaussianNoise noise = {VarianceOfStddev(kUnit / mu), 1, 10};
    const PrivacyLoss loss = GaussianLoss(GridL2Sensitivity(kUnit), noise, Delta(1e-6));
    const double exact = boost::math::cdf(normal, boost::math::quantile(normal, 0.95) - mu);
    EXPECT_LE(*loss.beta_at_5_percent, exact * (1 + 1e-12));
    EXPECT_GE(*loss.beta_at_5_percent, exact - 1e-9) << mu;
  }
}

// The curve of the Gaussian lies between the two bounds, and the lower one touches it at its
// points.
TEST(ReleaseStatementTest, TradeOffsHoldTheGaussianCurve) {
  const boost::math::normal normal;
  for (const double mu : {0.05, 0.3, 1.0, 2.0, 4.0}) {
    const DiscreteGaussianNoise noise = {VarianceOfStddev(kUnit / mu), 1, 10};
    const PrivacyLoss loss = GaussianLoss(GridL2Sensitivity(kUnit), noise, Delta(1e-6));
    ASSERT_GT(loss.trade_off.size(), 20U);
    EXPECT_EQ(loss.trade_off.front().alpha, 0);
    EXPECT_EQ(loss.trade_off.back().alpha, 1);
    for (const TradeOffPoint& point : loss.trade_off) {
      if (point.alpha == 0 || point.alpha == 1) continue;
      const double exact = boost::math::cdf(
          normal, boost::math::quantile(boost::math::complement(normal, point.alpha)) - mu);
      EXPECT_LE(point.beta_lower, exact + 1e-12) << mu << " " << point.alpha;
      EXPECT_GE(point.beta_lower, exact - 1e-5) << mu << " " << point.alpha;
      EXPECT_GE(point.beta_upper, exact - 1e-12) << mu << " " << point.alpha;
      EXPECT_LT(point.beta_upper, 1 - point.alpha) << "an attack is known";
    }
  }
}

TEST(ReleaseStatementTest, TheDealerAloneIsAnOutsider) {
  const Statement statement = StateRelease(Release(EngineStructure::kDealer, 1));
  EXPECT_EQ(statement.rows[5].loss, statement.rows[0].loss);
  EXPECT_NE(statement.rows[5].reason, statement.rows[0].reason);
}

TEST(ReleaseStatementTest, CaveatsNameWhatIsAssumed) {
  GaussianRelease release = Release(EngineStructure::kDealer, 1);
  EXPECT_THAT(StatementText(StateRelease(release)),
              HasSubstr("if all computing parties follow the protocol"));
  EXPECT_THAT(StatementText(StateRelease(release)), Not(HasSubstr("number of rows is public")));
  release.adjacency = Adjacency::kReplace;
  release.earlier_exact_releases = 3;
  const std::string text = StatementText(StateRelease(release));
  EXPECT_THAT(text, HasSubstr("number of rows is public"));
  EXPECT_THAT(text, HasSubstr("3 exact results of this table were released before"));
}

TEST(ReleaseStatementTest, NamesAndNoiseMustAgree) {
  GaussianRelease release = Release(EngineStructure::kDealer, 1);
  release.parties.pop_back();
  ExpectUsage([&] { StateRelease(release); });
  release = Release(EngineStructure::kDealer, 1);
  release.party_sensitivities = {GridL2Sensitivity(kUnit), GridL2Sensitivity(kUnit)};
  ExpectUsage([&] { StateRelease(release); });
}

// What others' rows change less for some: neither bound is that of whom they change most for.
TEST(ReleaseStatementTest, PartiesMayFaceLessThanTheWorst) {
  GaussianRelease release = Release(EngineStructure::kDealer, 1);
  release.party_sensitivities = {GridL2Sensitivity(2 * kUnit), GridL2Sensitivity(kUnit),
                                 GridL2Sensitivity(kUnit / 2)};
  release.two_parties_sensitivity = GridL2Sensitivity(1.5 * kUnit);
  const Statement statement = StateRelease(release);
  const auto expect = [&](size_t row, double epsilon) {
    EXPECT_NEAR(statement.rows[row].loss.epsilon_upper / epsilon, 1, 1e-9) << row;
    EXPECT_NEAR(statement.rows[row].loss.epsilon_lower / epsilon, 1, 1e-6) << row;
  };
  expect(1, EpsilonAt(2, 6));
  expect(2, EpsilonAt(1, 6));
  expect(3, EpsilonAt(0.5, 6));
  EXPECT_EQ(statement.rows[3].adversary.party, "west");
  expect(4, EpsilonAt(1.5, std::sqrt(18.0)));
}

// --- rendering -----------------------------------------------------------------------------------

PrivacyLoss Loss(double lower, double upper, double delta) {
  PrivacyLoss loss;
  loss.epsilon_lower = lower;
  loss.epsilon_upper = upper;
  loss.delta = delta;
  return loss;
}

PrivacyLoss Infinite() {
  PrivacyLoss loss;
  loss.infinite = true;
  return loss;
}

TEST(StatementTest, Sentence) {
  PrivacyLoss loss = Loss(0.9, 1, 1e-6);
  loss.beta_at_5_percent = 0.8766;
  EXPECT_EQ(PlainSentence(Adjacency::kAddRemove, loss),
            "Whoever guesses whether one person is in the data, with 5 % false alarms, is right at "
            "most 12.4 % of the time.");
  loss.beta_at_5_percent = 0.875;
  EXPECT_EQ(
      PlainSentence(Adjacency::kReplace, loss),
      "Whoever guesses which of two people is in the data, with 5 % false alarms, is right at "
      "most 12.5 % of the time.");
  EXPECT_EQ(PlainSentence(Adjacency::kReplace, Infinite()),
            "Nothing limits what this adversary learns about one person.");
}

TEST(StatementTest, SaysWhenAnEpsilonProtectsNobody) {
  const auto weakness = [](double epsilon) {
    PrivacyLoss loss;
    loss.epsilon_lower = loss.epsilon_upper = epsilon;
    loss.delta = 1e-6;
    return WeaknessText(loss);
  };
  // e^-epsilon 0.95 is 0.001 at 6.86.
  EXPECT_EQ(weakness(1), "");
  EXPECT_EQ(weakness(6.8), "");
  EXPECT_THAT(weakness(6.9), ::testing::HasSubstr("protects nobody"));
  EXPECT_THAT(weakness(478), ::testing::HasSubstr("may be right 100.0 % of the time"));
  EXPECT_EQ(WeaknessText(Infinite()), "");  // its own words say so
}

TEST(StatementTest, BetaOfEpsilonAndDelta) {
  EXPECT_NEAR(BetaAt5Percent(0, 0), 0.95, 1e-14);
  EXPECT_LE(BetaAt5Percent(0, 0), 0.95);
  EXPECT_NEAR(BetaAt5Percent(1, 1e-3), 0.999 - std::exp(1.0) * 0.05, 1e-14);
  EXPECT_NEAR(BetaAt5Percent(3, 0), std::exp(-3.0) * 0.95, 1e-14);
  EXPECT_EQ(BetaAt5Percent(1000, 0), 0);
  EXPECT_EQ(BetaAt5Percent(0, 0.99), 0);
  ExpectUsage([] { BetaAt5Percent(-1, 0); });
  ExpectUsage([] { BetaAt5Percent(std::nan(""), 0); });
  ExpectUsage([] { BetaAt5Percent(1, 1); });
}

Statement Example() {
  Statement statement;
  statement.mechanism = "Noise of scale 3.";
  Adversary party;
  party.kind = AdversaryKind::kParty;
  party.party = "north";
  Adversary nodes;
  nodes.kind = AdversaryKind::kComputeNodes;
  nodes.size = 2;
  statement.rows = {{{}, Adjacency::kAddRemove, Loss(1.23449, 1.23451, 1e-6), "all noise"},
                    {party, Adjacency::kReplace, Loss(0, 2.0001e-7, 1e-6), "most noise"},
                    {nodes, Adjacency::kReplace, Infinite(), "they hold all shares"}};
  statement.caveats = {"Only if it rains."};
  return statement;
}

TEST(StatementTest, TextNeverShowsLessThanTheLoss) {
  const std::string text = StatementText(Example());
  EXPECT_THAT(text, HasSubstr("1.235"));
  EXPECT_THAT(text, HasSubstr("2.001e-07"));
  EXPECT_THAT(text, HasSubstr("unlimited"));
  EXPECT_THAT(text, HasSubstr("party north"));
  EXPECT_THAT(text, HasSubstr("any 2 compute nodes together"));
  EXPECT_THAT(text, HasSubstr("Only if it rains."));
  EXPECT_THAT(text, HasSubstr("Whoever guesses"));
}

TEST(StatementTest, JsonRoundTrips) {
  const auto json = nlohmann::json::parse(StatementJson(Example()));
  EXPECT_EQ(json["mechanism"], "Noise of scale 3.");
  EXPECT_EQ(json["rows"][0]["adversary"]["kind"], "outside-analyst");
  EXPECT_EQ(json["rows"][0]["adjacency"], "add-remove");
  EXPECT_EQ(json["rows"][0]["epsilon"]["lower"].get<double>(), 1.23449);
  EXPECT_EQ(json["rows"][0]["epsilon"]["upper"].get<double>(), 1.23451);
  EXPECT_EQ(json["rows"][0]["delta"].get<double>(), 1e-6);
  EXPECT_EQ(json["rows"][1]["adversary"]["party"], "north");
  EXPECT_EQ(json["rows"][2]["epsilon"], "infinite");
  EXPECT_FALSE(json["rows"][2].contains("delta"));
  EXPECT_EQ(json["caveats"][0], "Only if it rains.");
}

TEST(StatementTest, ReadsBackWhatItWrote) {
  Statement statement = Example();
  statement.rows[0].loss.mu = 0.3;
  statement.rows[0].loss.beta_at_5_percent = 0.87;
  statement.rows[0].loss.trade_off = {{0, 0.9, 1}, {0.3, 0.1 + 0.2, 0.4}, {1, 0, 0}};
  statement.rows[1].loss.beta_at_5_percent = 0.1;
  statement.rows[1].adversary.with_dealer = true;
  statement.rows[1].uses_cap = 101;
  statement.rows[1].uses_realised = 84;
  const std::string json = StatementJson(statement);
  const Statement read = ParseStatementJson(json);
  EXPECT_EQ(StatementJson(read), json);
  ASSERT_EQ(read.rows.size(), 3U);
  EXPECT_EQ(read.rows[0].loss, statement.rows[0].loss);
  EXPECT_EQ(read.rows[1].loss, statement.rows[1].loss);
  EXPECT_EQ(read.rows[1].adversary.party, "north");
  EXPECT_EQ(*read.rows[1].uses_cap, 101U);
  EXPECT_EQ(*read.rows[1].uses_realised, 84U);
  EXPECT_TRUE(read.rows[2].loss.infinite);
  EXPECT_EQ(read.caveats, statement.caveats);
  EXPECT_THAT(StatementText(statement), HasSubstr("used 84 times in this run"));
}

TEST(StatementTest, ForeignJsonIsRefused) {
  auto json = nlohmann::json::parse(StatementJson(Example()));
  ExpectError(ErrorCode::kBadInput, [] { ParseStatementJson("{"); });
  ExpectError(ErrorCode::kBadInput, [] { ParseStatementJson("[]"); });
  for (const auto& [key, value] : std::vector<std::pair<std::string, nlohmann::json>>{
           {"/rows/0/adversary/kind", "burglar"},
           {"/rows/0/adjacency", "neighbours"},
           {"/rows/0/epsilon/lower", 5},  // above the upper end
           {"/rows/0/epsilon", nullptr},
           {"/rows", nlohmann::json::array()}}) {
    auto bad = json;
    bad[nlohmann::json::json_pointer(key)] = value;
    ExpectError(ErrorCode::kBadInput, [&] { ParseStatementJson(bad.dump()); });
  }
}

TEST(StatementTest, InconsistentTradeOffsAreNotRendered) {
  for (const std::vector<TradeOffPoint>& bad : std::vector<std::vector<TradeOffPoint>>{
           {{0.5, 0.2, 0.6}},                   // above the diagonal
           {{0.5, 0.3, 0.2}},                   // the guarantee above what is reached
           {{0.5, 0.1, 0.2}, {0.5, 0.1, 0.2}},  // twice the same
           {{0.5, -0.1, 0.2}},
           {{0.5, std::nan(""), 0.2}},
           {{1.5, 0, 0}}}) {
    Statement statement = Example();
    statement.rows[0].loss.trade_off = bad;
    ExpectError(ErrorCode::kInternal, [&] { StatementText(statement); });
  }
}

TEST(StatementTest, RoundedTextsAreNeverOnTheWrongSide) {
  double value = 1.2345e-300;
  for (int i = 0; i < 3000; ++i, value *= 1.5871) {
    for (int digits : {1, 3, 4, 9}) {
      const double up = std::stod(RoundedText(value, digits, true));
      const double down = std::stod(RoundedText(value, digits, false));
      const double unit = std::pow(10.0, 1 - digits);
      EXPECT_GE(up, value);
      EXPECT_LE(down, value);
      EXPECT_LE(up, value * (1 + 1.01 * unit));
      EXPECT_GE(down, value * (1 - 1.01 * unit));
      EXPECT_GT(down, 0);
    }
    if (!(value < 1e300)) break;
  }
  EXPECT_EQ(RoundedText(0, 4, true), "0");
  EXPECT_EQ(RoundedText(0.99996, 4, true), "1");
  EXPECT_EQ(RoundedText(0.99996, 4, false), "0.9999");
  EXPECT_EQ(RoundedText(HUGE_VAL, 4, true), "infinite");
}

TEST(StatementTest, AdversariesHaveNames) {
  Adversary adversary;
  EXPECT_EQ(AdversaryText(adversary), "outside analyst");
  adversary.kind = AdversaryKind::kCoalition;
  adversary.size = 2;
  EXPECT_EQ(AdversaryText(adversary), "any 2 parties together");
  adversary.with_dealer = true;
  EXPECT_EQ(AdversaryText(adversary), "any 2 parties together and the dealer");
  adversary.kind = AdversaryKind::kDealer;
  EXPECT_EQ(AdversaryText(adversary), "the dealer, with the published report");
  adversary.kind = AdversaryKind::kParty;
  EXPECT_EQ(AdversaryText(adversary), "any party together with the dealer");
}

TEST(StatementTest, MalformedLossesAreNotRendered) {
  const double nan = std::nan("");
  for (const PrivacyLoss& bad :
       {Loss(nan, 1, 0.1), Loss(0, nan, 0.1), Loss(0, HUGE_VAL, 0.1), Loss(2, 1, 0.1),
        Loss(-1, 1, 0.1), Loss(0, 1, 1), Loss(0, 1, -0.1), Loss(0, 1, nan)}) {
    Statement statement = Example();
    statement.rows[1].loss = bad;
    ExpectError(ErrorCode::kInternal, [&] { StatementText(statement); });
    ExpectError(ErrorCode::kInternal, [&] { StatementJson(statement); });
  }
  Statement statement = Example();
  statement.rows[0].loss.beta_at_5_percent = 1.5;
  ExpectError(ErrorCode::kInternal, [&] { CheckStatement(statement); });
  statement.rows.clear();
  ExpectError(ErrorCode::kInternal, [&] { CheckStatement(statement); });
}

}  // namespace
}  // namespace partita::privacy::statement_test
