// What a chain's statement promises: more than an exact attack reaches, unlimited where nothing
// protects, and the charges that follow.
#include "methods/mcmc/statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "methods/mcmc/trade_offs.h"
#include "stats/mcmc/clipped.h"

namespace partita::methods::mcmc::statement_test {
namespace {

using privacy::AdversaryKind;
using privacy::EngineStructure;
using stats::mcmc::Acceptance;
using ::testing::HasSubstr;

ChainPlan Plan(Rule rule, Acceptance acceptance) {
  ChainPlan plan;
  plan.rule = rule;
  plan.options.chains = 2;
  plan.options.warmup = 500;
  plan.options.draws = 1500;
  plan.options.acceptance = acceptance;
  plan.penalty = {4, 0.25, 10000, 0.5, 0};  // s = 40 c: sensitivity 1 / 40
  plan.start = Eigen::MatrixXd::Zero(1, 2);
  plan.priors = {stats::mcmc::ParsePrior("normal(0, 1)")};
  return plan;
}

ChainAudience Audience(EngineStructure engine) {
  return {{"north", "south", "west"}, engine, privacy::Adjacency::kReplace, 1e-6, 1};
}

TEST(ChainStatement, BarkersRuleIsTheSameAgainstEverybody) {
  const ChainPlan plan = Plan(Rule::kBit, Acceptance::kBarker);
  const double sensitivity =
      stats::mcmc::ClippedSensitivity(0.005, privacy::Adjacency::kReplace);  // 0.02
  const auto statement = StateChain(plan, Audience(EngineStructure::kReplicated), sensitivity);
  // Outside, three parties, any two (whom `replicated` does not withstand).
  ASSERT_EQ(statement.rows.size(), 5u);
  const auto& outside = statement.rows[0].loss;
  for (size_t k = 1; k <= 3; ++k) {
    EXPECT_EQ(statement.rows[k].adversary.kind, AdversaryKind::kParty);
    EXPECT_EQ(statement.rows[k].loss.epsilon_upper, outside.epsilon_upper);
  }
  EXPECT_TRUE(statement.rows[4].loss.infinite);
  // mu = Delta sqrt(n) / 2 = 0.63 is what 4000 bits near log r = 0 lose: their epsilon at 1e-6,
  // from below, by the Gaussian's profile; the statement is above and not by much.
  const double mu = 0.02 * std::sqrt(4000.0) / 2;
  const auto delta_of = [&](double epsilon) {
    const auto tail = [](double x) { return std::erfc(x / std::sqrt(2.0)) / 2; };
    return tail(epsilon / mu - mu / 2) - std::exp(epsilon) * tail(epsilon / mu + mu / 2);
  };
  double attack = 0;
  while (delta_of(attack) > 1e-6) attack += 0.001;
  EXPECT_GT(outside.epsilon_upper, attack);
  EXPECT_LT(outside.epsilon_upper, 1.25 * attack);
  ASSERT_FALSE(outside.trade_off.empty());
  EXPECT_THAT(statement.caveats.front(), HasSubstr("not the posterior"));
}

TEST(ChainStatement, TheCurveHoldsAndIsNotIdle) {
  const ChainPlan plan = Plan(Rule::kBit, Acceptance::kBarker);
  const auto statement = StateChain(plan, Audience(EngineStructure::kReplicated), 0.02);
  const double mu = 0.02 * std::sqrt(4000.0) / 2, wider = 0.02 * std::sqrt(4000.0 / 3);
  const auto gaussian = privacy::GaussianTradeOff(mu), looser = privacy::GaussianTradeOff(wider);
  for (const auto& point : statement.rows[0].loss.trade_off) {
    if (point.alpha < 0.01 || point.alpha > 0.9) continue;
    // Bits near log r = 0 are an attack; the logistic law's limit is what is promised at least.
    EXPECT_LE(point.beta_lower, gaussian.beta(point.alpha) + 0.002) << point.alpha;
    EXPECT_GE(point.beta_lower, looser.beta(point.alpha) - 0.03) << point.alpha;
  }
}

TEST(ChainStatement, NothingIsClaimedWhereNothingProtects) {
  const auto unlimited = [](const ChainPlan& plan, const Sensitivity& sensitivity) {
    const auto statement =
        StateChain(plan, Audience(EngineStructure::kHonestMajority), sensitivity);
    for (const auto& row : statement.rows) EXPECT_TRUE(row.loss.infinite);
    try {
      ChargesOf(plan, Audience(EngineStructure::kHonestMajority), sensitivity, 1);
      ADD_FAILURE() << "charged";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kRefused);
    }
    return statement.rows[0].reason;
  };
  EXPECT_THAT(unlimited(Plan(Rule::kBit, Acceptance::kMetropolis), 0.01), HasSubstr("Metropolis"));
  EXPECT_THAT(unlimited(Plan(Rule::kSum, Acceptance::kMetropolis), 0.01), HasSubstr("open"));
  EXPECT_THAT(unlimited(Plan(Rule::kProduct, Acceptance::kMetropolis), 0.01), HasSubstr("open"));
  EXPECT_THAT(unlimited(Plan(Rule::kBit, Acceptance::kBarker), {}), HasSubstr("bounds"));
  EXPECT_THROW(StateChain(Plan(Rule::kBit, Acceptance::kBarker),
                          Audience(EngineStructure::kReplicated), -1.0),
               Error);
}

// Seven parties under `shamir`: two may pool what they have if the study says so, three otherwise.
TEST(ChainStatement, CoalitionsAboveTheChosenThresholdHaveNoBound) {
  ChainPlan plan = Plan(Rule::kBit, Acceptance::kBarker);
  plan.options.warmup = 20;
  plan.options.draws = 30;
  ChainAudience audience = Audience(EngineStructure::Threshold(2));
  audience.parties = {"a", "b", "c", "d", "e", "f", "g"};
  for (const uint32_t threshold : {2u, 3u}) {
    SCOPED_TRACE(threshold);
    audience.engine =
        threshold == 2 ? EngineStructure::Threshold(2) : EngineStructure::kHonestMajority;
    const auto statement = StateChain(plan, audience, 0.02);
    ASSERT_EQ(statement.rows.size(), 13u);  // outside, seven parties, coalitions of two to six
    const double outside = statement.rows[0].loss.epsilon_upper;
    for (size_t k = 8; k < statement.rows.size(); ++k) {
      const auto& row = statement.rows[k];
      ASSERT_EQ(row.adversary.kind, AdversaryKind::kCoalition);
      ASSERT_EQ(row.adversary.size, k - 6);
      EXPECT_EQ(row.loss.infinite, row.adversary.size > threshold) << row.adversary.size;
      if (!row.loss.infinite) {
        EXPECT_EQ(row.loss.epsilon_upper, outside);
      }
    }
    // A budget for more parties than that is refused.
    EXPECT_EQ(ChargesOf(plan, audience, 0.02, threshold).size(), 2u);
    EXPECT_THROW(ChargesOf(plan, audience, 0.02, threshold + 1), Error);
  }
  audience.engine = EngineStructure::Threshold(2);
  EXPECT_THAT(StateChain(plan, audience, 0.02).rows[9].reason,
              HasSubstr("withstands 2 of the parties"));
}

// The law of a threshold is off by 2^-39, which times e^epsilon must fit into delta.
TEST(ChainStatement, SaysWhereThresholdsAreTooCoarse) {
  const auto statement = StateChain(Plan(Rule::kBit, Acceptance::kBarker),
                                    Audience(EngineStructure::kReplicated), 0.1);
  EXPECT_TRUE(statement.rows[0].loss.infinite);
  EXPECT_THAT(statement.rows[0].reason, HasSubstr("2^-39"));
}

// mu is known exactly: noise of variance 1, or what is left of it, against 2 / 40, 4000 times.
TEST(ChainStatement, PenaltyMethodLosesWhatItsGaussianLoses) {
  const ChainPlan plan = Plan(Rule::kPenalty, Acceptance::kMetropolis);
  const auto statement = StateChain(plan, Audience(EngineStructure::kDealer), 1.0);
  const double whole = 2.0 / 40 * std::sqrt(4000.0);
  for (const auto& row : statement.rows) {
    if (row.adversary.with_dealer) {
      EXPECT_TRUE(row.loss.infinite);
      continue;
    }
    const double known = row.adversary.kind == AdversaryKind::kCoalition ? row.adversary.size
                         : row.adversary.kind == AdversaryKind::kParty   ? 1
                                                                         : 0;
    ASSERT_TRUE(row.loss.mu);
    EXPECT_NEAR(*row.loss.mu, whole / std::sqrt((3 - known) / 3), 1e-9);
    EXPECT_GT(row.loss.epsilon_upper, *row.loss.mu);
  }
}

// A person with two rows counts twice.
TEST(ChainStatement, RowsOfOnePersonAddUp) {
  for (const Rule rule : {Rule::kBit, Rule::kPenalty}) {
    const bool bits = rule == Rule::kBit;
    const ChainPlan plan = Plan(rule, bits ? Acceptance::kBarker : Acceptance::kMetropolis);
    ChainAudience one = Audience(EngineStructure::kReplicated), two = one;
    one.delta = two.delta = 1e-5;
    two.rows_per_person = 2;
    const auto once = StateChain(plan, one, 0.02).rows[0].loss;
    const auto twice = StateChain(plan, two, 0.02).rows[0].loss;
    EXPECT_GT(twice.epsilon_upper, 1.9 * once.epsilon_upper);
    const auto doubled = StateChain(plan, one, 0.04);
    if (bits) {
      EXPECT_NEAR(twice.epsilon_upper, doubled.rows[0].loss.epsilon_upper, 1e-9);
    }
  }
}

TEST(ChainStatement, ChargesAreTheStatements) {
  const ChainPlan plan = Plan(Rule::kBit, Acceptance::kBarker);
  const ChainAudience audience = Audience(EngineStructure::kDealer);
  const auto statement = StateChain(plan, audience, 0.02);
  const auto charges = ChargesOf(plan, audience, 0.02, 2);
  // Outside, the dealer, any two parties.
  ASSERT_EQ(charges.size(), 3u);
  for (const auto& charge : charges) {
    EXPECT_EQ(charge.release, "decisions");
    const auto& dp = std::get<privacy::ledger::ApproximateDp>(charge.mechanism);
    EXPECT_EQ(dp.epsilon, statement.rows[0].loss.epsilon_upper);
    EXPECT_EQ(dp.delta, 1e-6);
  }
}

// A row decides in one stage: added or removed it moves one of two bits, at no more cost than
// without stages. Replaced it may move both, each by half. Rows of one person may be in both.
TEST(ChainStatement, StagesAreChargedByTheBitsThatAPersonMoves) {
  ChainPlan plan = Plan(Rule::kBit, Acceptance::kBarker);
  const auto epsilon = [&](bool staged, privacy::Adjacency adjacency, uint32_t rows) {
    plan.staged = staged;
    ChainAudience audience = Audience(EngineStructure::kDealer);
    audience.adjacency = adjacency;
    audience.rows_per_person = rows;
    return StateChain(plan, audience, stats::mcmc::ClippedSensitivity(0.002, adjacency))
        .rows[0]
        .loss.epsilon_upper;
  };
  const auto add = privacy::Adjacency::kAddRemove, replace = privacy::Adjacency::kReplace;
  // Twice as many bits have twice the error of their thresholds' law.
  EXPECT_NEAR(epsilon(true, add, 1), epsilon(false, add, 1), 0.02 * epsilon(false, add, 1));
  EXPECT_GE(epsilon(true, add, 1), epsilon(false, add, 1));
  EXPECT_NEAR(epsilon(true, replace, 1), epsilon(false, replace, 1),
              0.02 * epsilon(false, replace, 1));
  EXPECT_GE(epsilon(true, replace, 1), epsilon(false, replace, 1));
  EXPECT_GT(epsilon(true, add, 2), 1.3 * epsilon(false, add, 2));
  plan.staged = true;
  EXPECT_THAT(StateChain(plan, Audience(EngineStructure::kDealer), 0.01).mechanism,
              HasSubstr("in two stages"));
}

}  // namespace
}  // namespace partita::methods::mcmc::statement_test
