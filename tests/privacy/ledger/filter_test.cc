// The filter: budgets, costs, and the theorem itself on small adaptive games.
#include "privacy/ledger/filter.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/privacy/accounting/renyi_orders.h"
#include "tests/privacy/ledger/fixtures.h"

namespace partita::privacy::ledger::filter_test {
namespace {

constexpr double kRdpUnit = 0x1p-40;

Budget BudgetFor(const std::string& epsilon, const std::string& delta,
                 const std::string& approximate = "0") {
  return {Adjacency::kReplace, epsilon, delta, approximate};
}

double OrderOf(const Filter& filter) { return static_cast<double>(filter.order) * 0x1p-16; }

// What Gaussian noise may cost in all, as rho of zCDP.
double GaussianCapacity(const Filter& filter) {
  return static_cast<double>(filter.budget.rdp) * kRdpUnit / OrderOf(filter);
}

struct BudgetCase {
  const char* epsilon;
  const char* delta;
};

class FilterBudgetTest : public ::testing::TestWithParam<BudgetCase> {};

// The rho whose best conversion over ALL orders gives exactly the budget's epsilon: what somebody
// could spend who knew all studies beforehand. The filter's one order allows as much, and not more.
TEST_P(FilterBudgetTest, NothingIsLostAtExhaustionForGaussianNoise) {
  const BudgetCase budget_case = GetParam();
  const double epsilon = std::stod(budget_case.epsilon), delta = std::stod(budget_case.delta);
  double low = 0, high = 1e4 + 1;
  for (int i = 0; i < 200; ++i) {
    const double rho = (low + high) / 2;
    (ZcdpEpsilon(rho, delta) <= epsilon ? low : high) = rho;
  }
  const double capacity =
      GaussianCapacity(DesignFilter(BudgetFor(budget_case.epsilon, budget_case.delta)));
  EXPECT_LE(capacity, low * (1 + 1e-9));
  EXPECT_GE(capacity, low * (1 - 1e-6));
}

INSTANTIATE_TEST_SUITE_P(Budgets, FilterBudgetTest,
                         ::testing::Values(BudgetCase{"0.01", "1e-6"}, BudgetCase{"0.5", "1e-5"},
                                           BudgetCase{"1", "1e-6"}, BudgetCase{"1", "1e-15"},
                                           BudgetCase{"3.5", "1e-9"}, BudgetCase{"10", "0.01"},
                                           BudgetCase{"100", "1e-6"}));

TEST(FilterTest, AFullBudgetIsTheEpsilonThatWasPromised) {
  for (const char* epsilon : {"0.01", "0.5", "1", "8", "1000"}) {
    const Budget budget = BudgetFor(epsilon, "1e-7", "1e-8");
    const Filter filter = DesignFilter(budget);
    const double promised = std::stod(epsilon);
    EXPECT_LE(EpsilonAfter(budget, filter, filter.budget), std::nextafter(promised, 1e9));
    EXPECT_GE(EpsilonAfter(budget, filter, filter.budget), promised * (1 - 1e-6));
    const Cost beyond{filter.budget.rdp + (uint64_t{1} << 20), filter.budget.delta};
    EXPECT_GT(EpsilonAfter(budget, filter, beyond), promised);
  }
  EXPECT_EQ(EpsilonAfter(BudgetFor("1", "1e-7"), DesignFilter(BudgetFor("1", "1e-7")), {}), 0);
}

TEST(FilterTest, EveryOrderOfABudgetIsSoundAndTheChosenOneIsTheBest) {
  const Budget budget = BudgetFor("1", "1e-6");
  const Filter best = DesignFilter(budget);
  for (const double order : {2.0, 5.0, 10.0, 20.0, 40.0, 200.0, 5000.0}) {
    const uint64_t units = static_cast<uint64_t>(order * 65536);
    const double renyi = static_cast<double>(BudgetAtOrder(budget, units).rdp) * kRdpUnit;
    // A curve that is constant in the order: the conversion at this order alone.
    if (renyi > 0) {
      EXPECT_NEAR(testing::RdpEpsilonAt([&](double) { return renyi; }, 1e-6, {order}), 1, 1e-9)
          << order;
    }
    EXPECT_LE(renyi / order, GaussianCapacity(best)) << order;
  }
}

// --- costs ------------------------------------------------------------------------------------

constexpr uint64_t kOrder = 13 * 65536 + 777;
constexpr double kOrderValue = static_cast<double>(kOrder) / 65536;

double RenyiOf(const ChargedMechanism& mechanism, uint64_t count = 1) {
  return static_cast<double>(CostOf(mechanism, count, kOrder).rdp) * kRdpUnit;
}

TEST(CostTest, GaussianNoiseCostsItsExactRational) {
  GridGaussian gaussian;
  gaussian.remaining.share_variance = {3, 7, 40};
  gaussian.sensitivity = 5 * 0x1p18;
  // a D^2/(2 s) = a * 25 * 2^36 * 7 / (2 * 3 * 2^40).
  const double exact = kOrderValue * 25 * 7 / (6 * 16.0);
  EXPECT_GE(RenyiOf(gaussian), exact * (1 - 1e-15));
  EXPECT_LE(RenyiOf(gaussian), exact * (1 + 1e-15) + 1.01 * kRdpUnit);
  EXPECT_EQ(CostOf(gaussian, 1, kOrder).delta, 0u);
  // In integers, where the value is whole: a = 16, D = 1, s = 8, so a rho = 1.
  EXPECT_EQ(CostOf(GridGaussian{{{8, 1, 0}, 1, 1}, 1}, 1, 16 * 65536).rdp, uint64_t{1} << 40);
  // Anything above, however little, is one unit more.
  EXPECT_EQ(CostOf(GridGaussian{{{8, 1, 0}, 1, 1}, std::nextafter(1.0, 2.0)}, 1, 16 * 65536).rdp,
            (uint64_t{1} << 40) + 1);
}

TEST(CostTest, ASumOfSharesPaysForItsDistanceFromOneGaussian) {
  // Shares of sigma just above 4 grid units, where the distance is largest, in many coordinates.
  const GridVariance share{17, 1, 0};
  const uint32_t shares = 5;
  const size_t dimension = size_t{1} << 30;
  const GridGaussian summed{{share, shares, dimension}, 2};
  const GridGaussian single{{Multiply(share, shares), 1, dimension}, 2};
  const double tau = ShareGap(share, shares);
  const double gap =
      static_cast<double>(dimension) * tau * (2 * kOrderValue - 1) / (kOrderValue - 1);
  ASSERT_GT(tau, 0);
  const double difference = RenyiOf(summed) - RenyiOf(single);
  EXPECT_GE(difference + kRdpUnit, gap);
  EXPECT_GE(CostOf(summed, 1, kOrder).rdp, CostOf(single, 1, kOrder).rdp);
  EXPECT_LE(difference, gap + 2 * kRdpUnit);
  ExpectError(ErrorCode::kUsage, [&] { CostOf(GridGaussian{{{15, 1, 0}, 2, 1}, 2}, 1, kOrder); });
}

TEST(CostTest, PureMechanismsCostWhatRandomisedResponseCosts) {
  for (const double epsilon : {1e-3, 0.1, 0.7, 1.0, 5.0, 30.0, 400.0}) {
    const double reference = RandomisedResponseRdp(epsilon)(kOrderValue);
    EXPECT_NEAR(RenyiOf(PureDp{epsilon}), reference, reference * 1e-9 + 2 * kRdpUnit) << epsilon;
    EXPECT_LE(RenyiOf(PureDp{epsilon}), PureDpRdp(epsilon)(kOrderValue) * (1 + 1e-12) + kRdpUnit);
    EXPECT_EQ(CostOf(PureDp{epsilon}, 1, kOrder).rdp,
              CostOf(ApproximateDp{epsilon, 1e-9}, 1, kOrder).rdp);
  }
  // 2^-62 units, up.
  EXPECT_EQ(CostOf(ApproximateDp{1, 0x1p-60}, 3, kOrder).delta, 12u);
  EXPECT_EQ(CostOf(ApproximateDp{1, 1e-30}, 3, kOrder).delta, 1u);
}

TEST(CostTest, NothingIsFree) {
  EXPECT_EQ(CostOf(ZeroConcentrated{1e-24}, 1, kOrder).rdp, 1u);
  EXPECT_EQ(CostOf(PureDp{1e-12}, 1, kOrder).rdp, 1u);
}

TEST(CostTest, UsesTogetherCostNoMoreThanOneByOneAndNeverLessThanTheTruth) {
  rc::check([] {
    const double rho = *rc::gen::inRange(1, 1'000'000) * 1e-9;
    const uint64_t count = *rc::gen::inRange<uint64_t>(1, 1000);
    const uint64_t together = CostOf(ZeroConcentrated{rho}, count, kOrder).rdp;
    RC_ASSERT(together <= count * CostOf(ZeroConcentrated{rho}, 1, kOrder).rdp);
    const long double exact =
        static_cast<long double>(rho) * kOrder / 65536 * static_cast<long double>(count) * 0x1p40L;
    RC_ASSERT(static_cast<long double>(together) >= exact * (1 - 1e-15L));
    RC_ASSERT(static_cast<long double>(together) <= exact * (1 + 1e-15L) + 1);
  }) ||
      (ADD_FAILURE(), false);
}

TEST(CostTest, RefusesWhatIsNoMechanism) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, infinity, -infinity, 0.0, -0.0, -1.0, 1e308, 5e-324, 1e-300}) {
    for (const ChargedMechanism& mechanism :
         {ChargedMechanism(ZeroConcentrated{bad}), ChargedMechanism(PureDp{bad}),
          ChargedMechanism(ApproximateDp{bad, 1e-6}), ChargedMechanism(ApproximateDp{1, bad}),
          ChargedMechanism(GridGaussian{{{1, 1, 40}, 1, 1}, bad})}) {
      ExpectError(ErrorCode::kUsage, [&] { CostOf(mechanism, 1, kOrder); });
    }
  }
  ExpectError(ErrorCode::kUsage, [&] { CostOf(ApproximateDp{1, 1.0}, 1, kOrder); });
  ExpectError(ErrorCode::kUsage, [&] { CostOf(GridGaussian{{{0, 1, 0}, 1, 1}, 2}, 1, kOrder); });
  ExpectError(ErrorCode::kUsage, [&] { CostOf(GridGaussian{{{1, 0, 0}, 1, 1}, 2}, 1, kOrder); });
  ExpectError(ErrorCode::kUsage, [&] { CostOf(GridGaussian{{{1, 1, 40}, 0, 1}, 2}, 1, kOrder); });
  ExpectError(ErrorCode::kUsage, [&] { CostOf(GridGaussian{{{1, 1, 40}, 1, 0}, 2}, 1, kOrder); });
  ExpectError(ErrorCode::kUsage, [&] { CostOf(PureDp{1}, 0, kOrder); });
  ExpectError(ErrorCode::kUsage, [&] { CostOf(PureDp{1}, UINT64_MAX, kOrder); });
  ExpectError(ErrorCode::kUsage, [&] { CostOf(PureDp{1}, 1, 65536); });
  // Well formed, but more than any budget.
  ExpectError(ErrorCode::kBudget, [&] { CostOf(PureDp{1e6}, uint64_t{1} << 32, kOrder); });
  ExpectError(ErrorCode::kBudget, [&] {
    CostOf(GridGaussian{{{1, 1, 0}, 1, 1}, 0x1p100}, 1, kOrder);
  });
  ExpectError(ErrorCode::kBudget, [] { Cost{kMaxUnits, 0} + Cost{1, 0}; });
}

TEST(PolicyTest, RefusesWhatIsNoPolicy) {
  CheckPolicy(PolicyOf("visits"));
  for (const char* bad : {"",    "nan",          "inf",
                          "-1",  "+1",           "0",
                          "0.0", "1e308",        "1e-320",
                          "1e5", "1e-5",         "0x1",
                          "1 ",  " 1",           ".5",
                          "5.",  "1e",           "1e+",
                          "1,5", "1e1000000000", "00000000000000000000000001"}) {
    Policy policy = PolicyOf("visits");
    policy.outside.epsilon = bad;
    ExpectError(
        ErrorCode::kUsage, [&] { CheckPolicy(policy); }, "epsilon");
    policy = PolicyOf("visits");
    policy.insider->epsilon = bad;
    ExpectError(
        ErrorCode::kUsage, [&] { CheckPolicy(policy); }, "insiders");
  }
  for (const char* bad : {"", "nan", "0", "1", "-1e-6", "1e-16", "0.10001", "1e-400"}) {
    Policy policy = PolicyOf("visits");
    policy.outside.delta = bad;
    ExpectError(
        ErrorCode::kUsage, [&] { CheckPolicy(policy); }, "delta");
  }
  for (const char* bad : {"", "1e-6", "0.000001", "1e-5", "-1", "nan"}) {
    Policy policy = PolicyOf("visits");
    policy.outside.approximate_delta = bad;
    ExpectError(
        ErrorCode::kUsage, [&] { CheckPolicy(policy); }, "approximate_delta");
  }
  for (const char* bad : {"", "Visits", "-visits", "vis its", "visits\n", "b\xc3\xa4r"})
    ExpectError(ErrorCode::kUsage, [&] { CheckPolicy(PolicyOf(bad)); });
  ExpectError(ErrorCode::kUsage, [&] { CheckPolicy(PolicyOf(std::string(65, 'a'))); });
  const auto changed = [](auto change) {
    Policy policy = PolicyOf("visits");
    change(policy);
    ExpectError(ErrorCode::kUsage, [&] { CheckPolicy(policy); });
  };
  changed([](Policy& p) { p.coalition = 0; });
  changed([](Policy& p) { p.coalition = 65; });
  changed([](Policy& p) { p.max_exact = 0; });
  changed([](Policy& p) { p.exact = ExactRule::kRefused; });
  changed([](Policy& p) { p.insider->adjacency = Adjacency::kAddRemove; });
}

TEST(PolicyTest, KnowsWhatIsWider) {
  const Policy base = PolicyOf("visits");
  const auto wider = [&](auto change) {
    Policy policy = base;
    change(policy);
    return IsWider(base, policy);
  };
  EXPECT_FALSE(IsWider(base, base));
  EXPECT_FALSE(wider([](Policy& p) { p.outside.epsilon = "0.9999999999999999"; }));
  EXPECT_FALSE(wider([](Policy& p) { p.outside.epsilon = "1.0e0"; }));
  EXPECT_TRUE(wider([](Policy& p) { p.outside.epsilon = "1.0000000000000000000001"; }));
  EXPECT_TRUE(wider([](Policy& p) { p.insider->delta = "2e-6"; }));
  EXPECT_TRUE(wider([](Policy& p) { p.insider.reset(); }));
  EXPECT_TRUE(wider([](Policy& p) { p.outside.adjacency = Adjacency::kAddRemove; }));
  EXPECT_TRUE(wider([](Policy& p) { p.max_exact = 4; }));
  EXPECT_FALSE(wider([](Policy& p) { p.max_exact = 2; }));
  EXPECT_TRUE(wider([](Policy& p) { p.exact = ExactRule::kAllowed, p.max_exact = 0; }));
  EXPECT_FALSE(wider([](Policy& p) { p.exact = ExactRule::kRefused, p.max_exact = 0; }));
  EXPECT_FALSE(wider([](Policy& p) { p.coalition = 2; }));
}

// --- the theorem on small games ----------------------------------------------------------------

// One bit of randomised response after the other, the next one chosen by all answers so far, until
// the filter stops it. Exactly: all transcripts with both probabilities.
struct Transcript {
  double p = 1, q = 1;
};

// choice(answers) picks an epsilon; the filter decides.
void Play(uint64_t seed, const std::vector<double>& epsilons, const Filter& filter, Cost spent,
          Transcript now, int depth, std::vector<Transcript>& out) {
  const double epsilon = epsilons[seed % epsilons.size()];
  const Cost cost = CostOf(PureDp{epsilon}, 1, filter.order);
  if (depth == 0 || !Fits(spent + cost, filter.budget)) {
    out.push_back(now);
    return;
  }
  const double truth = 1 / (1 + std::exp(-epsilon));
  const uint64_t next = seed * 6364136223846793005u + 1442695040888963407u;
  Play(next >> 7, epsilons, filter, spent + cost, {now.p * truth, now.q * (1 - truth)}, depth - 1,
       out);
  Play(next >> 11, epsilons, filter, spent + cost, {now.p * (1 - truth), now.q * truth}, depth - 1,
       out);
}

double HockeyStick(const std::vector<Transcript>& transcripts, double epsilon) {
  double delta = 0;
  for (const Transcript& t : transcripts) delta += std::max(0.0, t.p - std::exp(epsilon) * t.q);
  return delta;
}

TEST(TheoremTest, AdaptiveChoicesNeverLeaveTheBudget) {
  const Budget budget = BudgetFor("2", "0.05");
  const Filter filter = DesignFilter(budget);
  const double order = OrderOf(filter), renyi = static_cast<double>(filter.budget.rdp) * kRdpUnit;
  const bool ok = rc::check([&] {
    std::vector<double> epsilons;
    const int kinds = *rc::gen::inRange(1, 6);
    for (int i = 0; i < kinds; ++i) epsilons.push_back(*rc::gen::inRange(5, 120) / 100.0);
    const uint64_t seed = *rc::gen::arbitrary<uint64_t>();
    std::vector<Transcript> transcripts;
    Play(seed, epsilons, filter, {}, {}, 9, transcripts);
    double forward = 0, backward = 0, mass = 0;
    for (const Transcript& t : transcripts) {
      forward += t.q * std::pow(t.p / t.q, order);
      backward += t.p * std::pow(t.q / t.p, order);
      mass += t.p;
    }
    RC_ASSERT(std::abs(mass - 1) < 1e-9);
    RC_ASSERT(std::log(forward) / (order - 1) <= renyi + 1e-9);
    RC_ASSERT(std::log(backward) / (order - 1) <= renyi + 1e-9);
    RC_ASSERT(HockeyStick(transcripts, 2) <= 0.05 + 1e-12);
  });
  EXPECT_TRUE(ok);
}

// The same game without the filter leaves the budget: the test above is awake.
TEST(TheoremTest, WithoutTheFilterTheSameGamesLeaveTheBudget) {
  Filter none = DesignFilter(BudgetFor("2", "0.05"));
  none.budget.rdp = kMaxUnits / 2;
  std::vector<Transcript> transcripts;
  Play(1, {0.9, 1.1}, none, {}, {}, 9, transcripts);
  EXPECT_GT(HockeyStick(transcripts, 2), 0.05);
}

}  // namespace
}  // namespace partita::privacy::ledger::filter_test
