// Statements of iterative methods, against closed forms and the paper's numbers.
#include "privacy/accounting/steps_statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace partita::privacy::steps_statement_test {
namespace {

using ::testing::HasSubstr;

// The experiment of the paper DPVI-VPD: two parties add the noise.
NoisySteps Paper() {
  NoisySteps steps;
  steps.parties = {"demography", "finance"};
  steps.noise_multiplier = 2.042;
  steps.sampling_rate = 100.0 / 30162;
  steps.steps = 20000;
  steps.delta = 1e-5;
  return steps;
}

// delta of telling N(0, 1) from N(mu, 1) (Balle & Wang 2018), and its inverse, in long double.
long double GaussianDelta(long double mu, long double epsilon) {
  const auto tail = [](long double x) { return std::erfc(x / std::sqrt(2.0L)) / 2; };
  return tail(epsilon / mu - mu / 2) - std::exp(epsilon) * tail(epsilon / mu + mu / 2);
}
double GaussianEpsilon(long double mu, long double delta) {
  long double low = 0, high = 1e5L;
  for (int i = 0; i < 200; ++i) {
    const long double middle = (low + high) / 2;
    (GaussianDelta(mu, middle) > delta ? low : high) = middle;
  }
  return static_cast<double>(high);
}

const StatementRow& RowOf(const Statement& statement, AdversaryKind kind,
                          bool with_dealer = false) {
  for (const StatementRow& row : statement.rows) {
    if (row.adversary.kind == kind && row.adversary.with_dealer == with_dealer) return row;
  }
  throw std::logic_error("no such row");
}

void ExpectContains(const PrivacyLoss& loss, double epsilon) {
  EXPECT_LE(loss.epsilon_lower, epsilon);
  EXPECT_GE(loss.epsilon_upper, epsilon);
  EXPECT_LE(loss.epsilon_upper - loss.epsilon_lower, 1.1e-3 * loss.epsilon_upper);
}

TEST(StepsStatementTest, OutsidersSeeTheExactLossOfThePaper) {
  NoisySteps steps = Paper();
  ExpectContains(StateSteps(steps).rows.front().loss, 1.82150);
  steps.adjacency = Adjacency::kAddRemove;
  ExpectContains(StateSteps(steps).rows.front().loss, 0.90898);
}

// mu = 2 C sqrt(uses) / (sigma sqrt((P - c)/P)), closed form.
TEST(StepsStatementTest, PartiesLearnAsMuchAsTheUsesOfOneRecordTell) {
  NoisySteps steps = Paper();
  for (uint64_t uses : {1, 67, 101, 2000}) {
    steps.max_uses = uses;
    const double mu = 2 * std::sqrt(static_cast<double>(uses)) / (2.042 * std::sqrt(0.5));
    const StatementRow row = RowOf(StateSteps(steps), AdversaryKind::kParty);
    ExpectContains(row.loss, GaussianEpsilon(mu, 1e-5L));
    EXPECT_EQ(row.adjacency, Adjacency::kReplace);
    EXPECT_THAT(row.reason, HasSubstr(std::to_string(uses)));
  }
  // Without a cap every step counts.
  steps.max_uses.reset();
  steps.steps = 2000;
  const double all = 2 * std::sqrt(2000.0) / (2.042 * std::sqrt(0.5));
  ExpectContains(RowOf(StateSteps(steps), AdversaryKind::kParty).loss, GaussianEpsilon(all, 1e-5L));
}

TEST(StepsStatementTest, LargerCoalitionsLearnMoreAndTheEngineSetsTheLimit) {
  NoisySteps steps = Paper();
  steps.parties = {"a", "b", "c", "d"};
  steps.max_uses = 67;
  const Statement statement = StateSteps(steps);
  double last = 0;
  for (uint32_t known = 1; known < 4; ++known) {
    const PrivacyLoss loss = LossOfUses(steps, known, 67);
    EXPECT_GT(loss.epsilon_upper, last);
    last = loss.epsilon_upper;
    ExpectContains(
        loss, GaussianEpsilon(2 * std::sqrt(67.0) / (2.042 * std::sqrt((4.0 - known) / 4)), 1e-5L));
  }
  EXPECT_TRUE(LossOfUses(steps, 4, 67).infinite);
  EXPECT_TRUE(RowOf(statement, AdversaryKind::kParty, /*with_dealer=*/true).loss.infinite);
  EXPECT_FALSE(RowOf(statement, AdversaryKind::kCoalition).loss.infinite);
  steps.engine = EngineStructure::kReplicated;
  steps.parties = {"a", "b", "c"};
  EXPECT_TRUE(RowOf(StateSteps(steps), AdversaryKind::kCoalition).loss.infinite);
}

TEST(StepsStatementTest, TheAnalystsPartyIsTheHeadline) {
  NoisySteps steps = Paper();
  steps.max_uses = 101;
  steps.analyst = "finance";
  const Statement statement = StateSteps(steps);
  EXPECT_EQ(statement.rows.front().adversary.party, "finance");
  EXPECT_THAT(StatementText(statement), HasSubstr("finance"));
}

// Noise on a grid is charged for its distance from the Gaussian, and the loss grows with it.
TEST(StepsStatementTest, ChargesTheDistanceOfTheGridNoise) {
  NoisySteps steps = Paper();
  const PrivacyLoss smooth = StateSteps(steps).rows.front().loss;
  steps.gap = 1e-11;  // 20000 times: 2e-7 of the delta of 1e-5
  const PrivacyLoss grid = StateSteps(steps).rows.front().loss;
  EXPECT_GT(grid.epsilon_lower, smooth.epsilon_lower);
  EXPECT_LT(grid.epsilon_upper, smooth.epsilon_upper * 1.02);
  steps.gap = 1e-9;  // more than the delta
  EXPECT_TRUE(StateSteps(steps).rows.front().loss.infinite);
}

// The certified lower bound of the trade-off at 5 % lies just below the Gaussian's.
TEST(StepsStatementTest, BoundsWhatAGuesserGets) {
  NoisySteps steps = Paper();
  steps.max_uses = 1;
  const PrivacyLoss loss = LossOfUses(steps, 1, 1);
  const double mu = 2 / (2.042 * std::sqrt(0.5));
  // Phi(Phi^-1(0.95) - mu).
  const double exact = std::erfc(-(1.6448536269514722 - mu) / std::sqrt(2.0)) / 2;
  ASSERT_TRUE(loss.beta_at_5_percent.has_value());
  EXPECT_LE(*loss.beta_at_5_percent, exact);
  EXPECT_GE(*loss.beta_at_5_percent, exact - 0.03);
}

double PointAt(const PrivacyLoss& loss, double alpha, double TradeOffPoint::*which) {
  for (const TradeOffPoint& point : loss.trade_off) {
    if (std::abs(point.alpha - alpha) < 1e-12) return point.*which;
  }
  ADD_FAILURE() << "no point at " << alpha;
  return 0;
}

// Of one Gaussian: its trade-off function in closed form, between the ends at every point and close
// to both.
TEST(StepsStatementTest, CurvesOfPartiesContainTheGaussiansTradeOff) {
  NoisySteps steps = Paper();
  const PrivacyLoss loss = LossOfUses(steps, 1, 1);
  const double mu = 2 / (2.042 * std::sqrt(0.5));
  ASSERT_GT(loss.trade_off.size(), 100u);
  for (const TradeOffPoint& point : loss.trade_off) {
    double low = -40, high = 40;  // Phi^-1(1 - alpha)
    for (int i = 0; i < 100; ++i) {
      const double middle = (low + high) / 2;
      (std::erfc(middle / std::sqrt(2.0)) / 2 > point.alpha ? low : high) = middle;
    }
    const double exact = std::erfc(-(low - mu) / std::sqrt(2.0)) / 2;
    EXPECT_LE(point.beta_lower, exact + 1e-12) << point.alpha;
    EXPECT_GE(point.beta_upper, exact - 1e-12) << point.alpha;
    EXPECT_LE(point.beta_upper - point.beta_lower, 0.06) << point.alpha;
  }
}

// Of sampled steps: the function lies above the line of the stated epsilon and is no weaker than
// what is said about 5 %; grid noise takes a little away; rows without an epsilon have none.
TEST(StepsStatementTest, CurvesOfOutsiders) {
  NoisySteps steps = Paper();
  const Statement statement = StateSteps(steps);
  const PrivacyLoss& loss = statement.rows.front().loss;
  const double line = BetaAt5Percent(loss.epsilon_upper, loss.delta);
  EXPECT_GE(PointAt(loss, 0.05, &TradeOffPoint::beta_lower), line);
  EXPECT_NEAR(PointAt(loss, 0.05, &TradeOffPoint::beta_lower), *loss.beta_at_5_percent, 0.02);
  EXPECT_LE(*loss.beta_at_5_percent, PointAt(loss, 0.05, &TradeOffPoint::beta_upper));
  steps.gap = 1e-11;
  const PrivacyLoss grid = StateSteps(steps).rows.front().loss;
  EXPECT_LE(PointAt(grid, 0.5, &TradeOffPoint::beta_lower),
            PointAt(loss, 0.5, &TradeOffPoint::beta_upper));
  for (const StatementRow& row : statement.rows) {
    EXPECT_EQ(row.loss.trade_off.empty(), row.loss.infinite || row.loss.epsilon_upper >= 30);
  }
  EXPECT_EQ(ParseStatementJson(StatementJson(statement)).rows.front().loss, loss);
}

TEST(StepsStatementTest, RefusesWhatMakesNoSense) {
  const auto refused = [](const std::function<void(NoisySteps&)>& spoil) {
    NoisySteps steps = Paper();
    spoil(steps);
    try {
      StateSteps(steps);
    } catch (const Error& error) {
      return error.code() == ErrorCode::kUsage;
    }
    return false;
  };
  const double nan = std::nan("");
  EXPECT_TRUE(refused([](NoisySteps& s) { s.parties.clear(); }));
  EXPECT_TRUE(refused([](NoisySteps& s) { s.analyst = "nobody"; }));
  EXPECT_TRUE(refused([](NoisySteps& s) { s.max_uses = 0; }));
  EXPECT_TRUE(refused([](NoisySteps& s) { s.max_uses = 20001; }));
  EXPECT_TRUE(refused([](NoisySteps& s) { s.steps = 0; }));
  EXPECT_TRUE(refused([&](NoisySteps& s) { s.noise_multiplier = nan; }));
  EXPECT_TRUE(refused([](NoisySteps& s) { s.noise_multiplier = -1; }));
  EXPECT_TRUE(refused([](NoisySteps& s) { s.sampling_rate = 1.5; }));
  EXPECT_TRUE(refused([](NoisySteps& s) { s.delta = 0; }));
  EXPECT_TRUE(refused([&](NoisySteps& s) { s.gap = nan; }));
  EXPECT_TRUE(refused([](NoisySteps& s) {
    s.noise_multiplier = 0.1;
    s.gap = 1e-20;
  }));
}

}  // namespace
}  // namespace partita::privacy::steps_statement_test
