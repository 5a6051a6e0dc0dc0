// The statements of the classification protocols: numbers against the accountant, the exact audit
// and each other; who knows what; charges.
#include "methods/classify/statement.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "methods/classify/held_out_counts.h"
#include "methods/classify/level_descents.h"
#include "methods/classify/newton_sums.h"
#include "privacy/accounting/accountant.h"
#include "privacy/accounting/normal.h"
#include "privacy/sampling/calibrate.h"
#include "tests/stats/erm/objective_audit.h"

namespace partita::methods::classify::statement_test {
namespace {

using privacy::Adjacency;
using privacy::AdversaryKind;
using privacy::PrivacyLoss;
using privacy::Statement;
using ::testing::HasSubstr;

const Audience kAudience{{"north", "south", "west"}, privacy::EngineStructure::kDealer, 1e-6};

const privacy::StatementRow& RowOf(const Statement& statement, AdversaryKind kind,
                                   uint32_t size = 0, bool with_dealer = false) {
  for (const privacy::StatementRow& row : statement.rows) {
    if (row.adversary.kind == kind && row.adversary.size == size &&
        row.adversary.with_dealer == with_dealer) {
      return row;
    }
  }
  throw Error(ErrorCode::kInternal, "no such row");
}

DescentTask MakeDescent() {
  DescentTask task;
  task.options = {{}, 0.01, 0.5, 1, 0.05, 200, stats::erm::Optimiser::kSgd};
  task.rows = 3000;
  task.party_rows = 1000;
  task.dimension = 4;
  task.parties = 3;
  return task;
}

double Pld(double noise, double rate, uint64_t steps, double delta) {
  return privacy::PldEpsilon(
             {{privacy::GaussianMechanism(noise, {Adjacency::kReplace, rate}), steps}}, delta)
      .value.upper;
}

// Calibrated to epsilon 1 against one known share: a party gets that, an outsider less, because all
// three shares protect from it. Nobody knows another owner's batches.
TEST(Statements, DescentIsAmplifiedAgainstPartiesToo) {
  const DescentTask task = MakeDescent();
  const double noise = CalibrateDescent(task, 1, 1e-6);
  const Statement statement = StateDescent(task, noise, kAudience);
  const PrivacyLoss& party = RowOf(statement, AdversaryKind::kParty).loss;
  EXPECT_LE(party.epsilon_upper, 1 + 1e-6);
  EXPECT_GT(party.epsilon_upper, 0.98);
  const PrivacyLoss& outside = RowOf(statement, AdversaryKind::kOutsideAnalyst).loss;
  EXPECT_NEAR(outside.epsilon_upper, Pld(noise * std::sqrt(1.5), 0.05, 200, 1e-6), 1e-3);
  EXPECT_LT(outside.epsilon_upper, party.epsilon_upper);
  const PrivacyLoss& two = RowOf(statement, AdversaryKind::kCoalition, 2).loss;
  EXPECT_NEAR(two.epsilon_upper, Pld(noise * std::sqrt(0.5), 0.05, 200, 1e-6), 1e-3);
  EXPECT_TRUE(RowOf(statement, AdversaryKind::kParty, 0, true).loss.infinite);
  EXPECT_EQ(RowOf(statement, AdversaryKind::kDealer).loss, outside);
  EXPECT_EQ(statement.rows.size(), 1 + 3 + 1 + 2u);

  // An engine that withstands one party: two know everything, and nothing is charged for them.
  Audience replicated = kAudience;
  replicated.engine = privacy::EngineStructure::kReplicated;
  const Statement three = StateDescent(task, noise, replicated);
  EXPECT_TRUE(RowOf(three, AdversaryKind::kCoalition, 2).loss.infinite);
  EXPECT_THROW(RowOf(three, AdversaryKind::kDealer), Error);
  EXPECT_THROW(ChargesOf(three, "gradients", 2, 1e-6), Error);
  const auto charges = ChargesOf(statement, "gradients", 1, 1e-6);
  ASSERT_EQ(charges.size(), 3u);  // outside, a party, the dealer
  EXPECT_EQ(std::get<privacy::ledger::ApproximateDp>(charges[1].mechanism).epsilon,
            party.epsilon_upper);
  EXPECT_EQ(ChargesOf(statement, "gradients", 2, 1e-6).size(), 3u);
  EXPECT_THROW(ChargesOf(statement, "gradients", 3, 1e-6), Error);  // nobody is sized against them

  // Several levels are as many descents.
  const Statement levels = StateDescent(AllLevels(task, 3), noise, kAudience);
  EXPECT_NEAR(RowOf(levels, AdversaryKind::kParty).loss.epsilon_upper, Pld(noise, 0.05, 600, 1e-6),
              1e-3);

  Audience few = kAudience;
  few.parties.pop_back();
  EXPECT_THROW(StateDescent(task, noise, few), Error);
}

// Whoever sees the sums is told of all of them; the paper's theorem is not claimed for anybody.
TEST(Statements, PsgdIsStatedForItsTranscript) {
  PsgdTask task;
  task.options = {{}, 0.1, 0, 50};
  task.rows = 3000;
  task.party_rows = 1000;
  task.dimension = 4;
  task.parties = 3;
  task.eta_stddev = 44;
  task.rho_stddev = 30;
  const Statement statement = StatePsgd(task, kAudience);
  const double party = RowOf(statement, AdversaryKind::kParty).loss.epsilon_upper;
  EXPECT_NEAR(party, privacy::GaussianEpsilon(2 * std::sqrt(50.0) / 30, 1e-6), 1e-6);
  const double mu = 2 * std::sqrt(50.0) / (30 * std::sqrt(1.5));
  EXPECT_NEAR(RowOf(statement, AdversaryKind::kOutsideAnalyst).loss.epsilon_upper,
              privacy::GaussianEpsilon(mu, 1e-6), 1e-6);
  // The noise that is drawn once changes nothing.
  task.eta_stddev = 4000;
  EXPECT_EQ(RowOf(StatePsgd(task, kAudience), AdversaryKind::kParty).loss.epsilon_upper, party);
  EXPECT_THAT(statement.caveats.back(), HasSubstr("convergence"));
}

TEST(Statements, TheMinimumMeetsItsBudgetAgainstWhomItWasDesignedFor) {
  // Never above what was asked, not by a rounding: it is shown rounded up.
  for (const double epsilon : {0.1, 1.0, 1.5, 5.0}) {
    const MinimumBudget budget{epsilon, 1e-5, 0.02, 0.7, 1};
    const PrivateMinimum design = DesignMinimum(budget, 0.05, {400, 300, 300}, 5);
    Audience audience = kAudience;
    audience.delta = budget.delta;
    const Statement statement = StateMinimum(design, budget, audience);
    const double party = RowOf(statement, AdversaryKind::kParty).loss.epsilon_upper;
    EXPECT_LE(party, epsilon);
    EXPECT_GT(party, epsilon * 0.96);
    EXPECT_LT(RowOf(statement, AdversaryKind::kOutsideAnalyst).loss.epsilon_upper, party);
    EXPECT_GT(RowOf(statement, AdversaryKind::kCoalition, 2).loss.epsilon_upper, party);
    EXPECT_THAT(statement.caveats.back(), HasSubstr("certificate"));
  }
}

// The theorem speaks of the exact minimiser: what opens without output noise has no bound, whoever
// sees it, and cannot be charged as if it had.
TEST(Statements, NothingLimitsWhatOpensWithoutCover) {
  const MinimumBudget budget{1, 1e-5, 0, 0.7, 1};
  const PrivateMinimum design = DesignObjective(budget, 1e-4, {300, 400, 300}, 10);
  ASSERT_GT(design.slack, 0);
  Audience audience;
  audience.parties = {"north", "south", "west"};
  audience.delta = 1e-5;
  for (const Statement& statement :
       {StateObjective(design, budget, audience), StateExact("The average, exactly.", audience)}) {
    ASSERT_EQ(statement.rows.size(), 5u);  // outside, three parties, the dealer
    for (const privacy::StatementRow& row : statement.rows) EXPECT_TRUE(row.loss.infinite);
    EXPECT_THROW(ChargesOf(statement, "coefficients", 1, 1e-5), Error);
  }
  const Statement statement = StateObjective(design, budget, audience);
  EXPECT_NE(statement.mechanism.find(fmt::format("Delta is {:.6g}", design.slack)),
            std::string::npos);
  EXPECT_NE(statement.mechanism.find("EXACT minimiser"), std::string::npos);
}

TEST(Statements, AggregationCountsAndNewtonSumsMeetTheirBudgets) {
  AggregationTask aggregation;
  aggregation.lambda = 0.1;
  aggregation.dimension = 4;
  aggregation.parties = 3;
  aggregation.smallest_rows = 200;
  aggregation.largest_rows = 300;
  const NoisedSum average = DesignAggregation(aggregation, 0.7, 1e-6);
  CountsTask counting;
  counting.parties = 3;
  counting.party_rows = 100;
  const NoisedSum counts = DesignCounts(counting, 0.7, 1e-6);
  NewtonTask newton;
  newton.dimension = 4;
  newton.party_rows = 1000;
  newton.parties = 3;
  const NoisedSum sums = DesignNewton(newton, 0.7, 1e-6);
  for (const Statement& statement :
       {StateAggregation(aggregation, average, kAudience), StateCounts(counting, counts, kAudience),
        StateNewton(newton, sums, kAudience)}) {
    const double party = RowOf(statement, AdversaryKind::kParty).loss.epsilon_upper;
    EXPECT_LE(party, 0.7 * (1 + 1e-9));
    EXPECT_GT(party, 0.69);
    EXPECT_LT(RowOf(statement, AdversaryKind::kOutsideAnalyst).loss.epsilon_upper, party);
  }
}

// Objective perturbation with the noise of either equation, by the exact laws of a table with one
// column: what the paper claims for the printed sigma* is broken, what the statement says of the
// same noise is true; the corrected one keeps both.
TEST(Statements, ThePrintedSigmaIsStatedForWhatItIsWorth) {
  constexpr double kEpsilon = 1, kDelta = 0.05;
  constexpr Eigen::Index kRows = 20;
  for (const stats::erm::NoiseRule rule :
       {stats::erm::NoiseRule::kPrinted, stats::erm::NoiseRule::kCorrected}) {
    const stats::erm::Slack slack =
        stats::erm::PaperSlack(privacy::Epsilon(kEpsilon), 0.1, kRows, 0.25);
    stats::erm::ReleasePair pair;
    pair.rows = {Eigen::MatrixXd::Ones(kRows, 1), Eigen::VectorXd::Ones(kRows)};
    pair.neighbour = pair.rows;
    pair.neighbour.y(0) = -1;
    pair.objective.lambda = 0.1;
    pair.objective.slack = slack.delta_slack;
    pair.noise_stddev =
        stats::erm::ObjectiveNoise(rule, 1, slack.epsilon_rest, privacy::Delta(kDelta));
    const double stated =
        (1 + 1e-12) *
        (stats::erm::DeterminantEpsilon(0.1 + slack.delta_slack, kRows,
                                        stats::erm::MaxCurvature(stats::erm::Loss())) +
         stats::erm::ObjectiveEpsilonRest(stats::erm::NoiseRule::kLinearModel, 1, pair.noise_stddev,
                                          privacy::Delta(kDelta)));
    if (rule == stats::erm::NoiseRule::kPrinted) {
      EXPECT_GT(stats::erm::TrueDelta(pair, kEpsilon), 0.5);  // claimed: 0.05
      EXPECT_GT(stated, 10 * kEpsilon);
    } else {
      EXPECT_LT(stats::erm::TrueDelta(pair, kEpsilon), kDelta);
      EXPECT_LE(stated, kEpsilon * (1 + 1e-9));  // less by one determinant factor
    }
    EXPECT_LE(stats::erm::TrueDelta(pair, stated), kDelta);
  }
}

// Fit and intervals are of the same rows and add up; counts are of other rows.
TEST(Statements, SeveralReleasesTogether) {
  NewtonTask newton;
  newton.dimension = 4;
  newton.party_rows = 1000;
  newton.parties = 3;
  const Statement half = StateNewton(newton, DesignNewton(newton, 0.5, 1e-6), kAudience);
  CountsTask counting;
  counting.parties = 3;
  counting.party_rows = 100;
  const Statement counts = StateCounts(counting, DesignCounts(counting, 3, 1e-6), kAudience);
  const Statement both = Together({half, half}, nullptr);
  const Statement all = Together({half, half}, &counts);
  for (const AdversaryKind kind : {AdversaryKind::kOutsideAnalyst, AdversaryKind::kParty}) {
    const double one = RowOf(half, kind).loss.epsilon_upper;
    EXPECT_NEAR(RowOf(both, kind).loss.epsilon_upper, 2 * one, 1e-9);
    EXPECT_DOUBLE_EQ(RowOf(both, kind).loss.delta, 2e-6);
    EXPECT_EQ(RowOf(all, kind).loss.epsilon_upper, RowOf(counts, kind).loss.epsilon_upper);
  }
  EXPECT_TRUE(RowOf(all, AdversaryKind::kParty, 0, true).loss.infinite);
  Audience two = kAudience;
  two.parties.pop_back();
  newton.parties = 2;
  const Statement other = StateNewton(newton, DesignNewton(newton, 0.5, 1e-6), two);
  EXPECT_THROW(Together({half, other}, nullptr), Error);
}

// One row with the loss of a Gaussian at this delta.
Statement OfGaussian(double mu, double delta) {
  const privacy::Bounds epsilon =
      privacy::GaussianEpsilon(privacy::L2Sensitivity(mu), 1, privacy::Delta(delta));
  Statement statement;
  statement.mechanism = "Gaussian.";
  statement.rows.emplace_back();
  statement.rows[0].loss.epsilon_lower = epsilon.lower;
  statement.rows[0].loss.epsilon_upper = epsilon.upper;
  statement.rows[0].loss.delta = delta;
  return statement;
}

// What is stated of several releases together contains the truth at the delta that is stated: a
// lower end at a smaller delta says nothing there.
TEST(Statements, LowerEndsHoldAtTheDeltaOfAllReleases) {
  const double mu = 1, small = 1e-7, large = 1e-3, faint = 1e-3;
  const Statement strong = OfGaussian(mu, small), weak = OfGaussian(faint, large);
  const auto truth = [](double total, double delta) {
    return privacy::GaussianEpsilon(privacy::L2Sensitivity(total), 1, privacy::Delta(delta));
  };
  for (const auto& releases : {std::vector{strong, weak}, std::vector{weak, strong}}) {
    const PrivacyLoss both = Together(releases, nullptr).rows[0].loss;
    const privacy::Bounds exact = truth(std::hypot(mu, faint), both.delta);
    EXPECT_DOUBLE_EQ(both.delta, small + large);
    EXPECT_LE(both.epsilon_lower, exact.upper);
    EXPECT_GE(both.epsilon_upper, exact.lower);
    // Of either table's rows: as much as the worse of the two loses.
    const PrivacyLoss either = Together({releases[0]}, &releases[1]).rows[0].loss;
    EXPECT_EQ(either.delta, large);
    EXPECT_LE(either.epsilon_lower, truth(mu, large).upper);
    EXPECT_GE(either.epsilon_upper, truth(mu, large).lower);
  }
  // At one delta the larger lower end holds.
  const PrivacyLoss same = Together({strong}, &strong).rows[0].loss;
  EXPECT_EQ(same.epsilon_lower, strong.rows[0].loss.epsilon_lower);
}

TEST(Statements, NoiseAndItsWorthAreInverse) {
  for (const stats::erm::NoiseRule rule :
       {stats::erm::NoiseRule::kCorrected, stats::erm::NoiseRule::kLinearModel}) {
    for (const double rest : {0.05, 0.7, 4.0}) {
      const privacy::Delta delta(1e-4);
      const double sigma = stats::erm::ObjectiveNoise(rule, 7, rest, delta);
      EXPECT_NEAR(stats::erm::ObjectiveEpsilonRest(rule, 7, sigma, delta) / rest, 1, 1e-9);
    }
  }
}

TEST(Statements, ADeltaAboveOneOverTheRowsIsRefused) {
  EXPECT_NO_THROW(RequireSmallDelta(1e-3, 569));
  EXPECT_THROW(RequireSmallDelta(0.05, 569), Error);
}

}  // namespace
}  // namespace partita::methods::classify::statement_test
