// Certified points of trade-off functions against the exact curves of the Gaussian and of Laplace.
#include "privacy/accounting/guarantee.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/error.h"
#include "tests/privacy/accounting/trade_offs.h"

namespace partita::privacy::testing::guarantee_test {
namespace {

struct Case {
  std::vector<Event> events;
  TradeOff exact;
};

std::vector<Case> Cases() {
  return {{{{GaussianMechanism(1, {}), 1}}, GaussianTradeOff(1)},
          {{{GaussianMechanism(8, {}), 16}}, GaussianTradeOff(0.5)},
          {{{GaussianMechanism(4, {Adjacency::kReplace, 1}), 4}}, GaussianTradeOff(1)},
          {{{LaplaceMechanism(2, {}), 1}}, LaplaceTradeOff(0.5)}};
}

// Slack: the deltas are known to 1 %, and a line's delta is at most its power; the search ends
// within 0.02 of the best epsilon, where a concave function of curvature below 1 has lost at most
// 2e-4.
TEST(GuaranteeTest, BetaIsBelowTheTruthAndNearIt) {
  for (const Case& test : Cases()) {
    const double epsilon = PldEpsilon(test.events, 1e-6).value.upper;
    for (double alpha : {0.01, 0.05, 0.3, 0.7}) {
      const double exact = test.exact.beta(alpha);
      const double beta = GuaranteedBeta(test.events, alpha, epsilon);
      EXPECT_LE(beta, exact) << test.exact.name << " " << alpha;
      EXPECT_GE(beta, exact - 0.01 * (1 - exact) - 2e-4) << test.exact.name << " " << alpha;
    }
  }
}

// Whatever is given as the largest epsilon, the result is a bound.
TEST(GuaranteeTest, BetaHoldsForAnyHint) {
  const std::vector<Event> events = {{GaussianMechanism(1, {}), 1}};
  for (double hint : {0.0, 1e-3, 2.0, 1e6, HUGE_VAL})
    EXPECT_LE(GuaranteedBeta(events, 0.05, hint), GaussianTradeOff(1).beta(0.05)) << hint;
  EXPECT_THROW(GuaranteedBeta(events, -0.1, 1), Error);
  EXPECT_THROW(GuaranteedBeta(events, std::nan(""), 1), Error);
}

TEST(GuaranteeTest, NoFiniteEpsilonStillHasACurve) {
  const std::vector<Event> events = {{ApproximateDpMechanism({1, 0.1}), 1}};
  const double exact = EpsilonDeltaTradeOff({1, 0.1}).beta(0.05);
  const double beta = GuaranteedBeta(events, 0.05, HUGE_VAL);
  EXPECT_LE(beta, exact);
  EXPECT_GE(beta, exact - 1e-2);
}

// Where the work is used up there are fewer lines, each of them a bound.
TEST(GuaranteeTest, ASearchOfLinesKeepsToItsWork) {
  const std::vector<Event> events = {{GaussianMechanism(8, {}), 16}};
  constexpr double kPlenty = 1e12;
  PldOptions options;
  options.work = std::make_shared<double>(kPlenty);
  const double best = GuaranteedBeta(events, 0.05, 2, options);
  const double used = kPlenty - *options.work;
  options.work = std::make_shared<double>(1);
  const double little = GuaranteedBeta(events, 0.05, 2, options);
  EXPECT_LT(1 - *options.work, used / 4);
  EXPECT_LE(little, best);
  EXPECT_LE(best, GaussianTradeOff(0.5).beta(0.05));
}

double LargestGap(const std::vector<CertifiedPoint>& points) {
  double gap = 0;
  for (const CertifiedPoint& point : points)
    gap = std::max(gap, point.beta.upper - point.beta.lower);
  return gap;
}

// The gap between the two bounds falls with the distance of the epsilons.
TEST(GuaranteeTest, MorePointsBringTheBoundsTogether) {
  const std::vector<double> alphas = ShowingAlphas();
  for (const Case& test : Cases()) {
    const auto gap = [&](size_t points) {
      return LargestGap(
          CertifiedTradeOff(Profile(test.events, ShowingEpsilons(test.events, points)), alphas));
    };
    EXPECT_LT(gap(129), 0.5 * gap(33)) << test.exact.name;
  }
}

TEST(GuaranteeTest, CertifiedPointsHoldTheCurve) {
  const std::vector<double> alphas = ShowingAlphas();
  EXPECT_TRUE(std::is_sorted(alphas.begin(), alphas.end()));
  EXPECT_NE(std::find(alphas.begin(), alphas.end(), 0.05), alphas.end());
  for (const Case& test : Cases()) {
    const auto profile = Profile(test.events, ShowingEpsilons(test.events, 33));
    for (const CertifiedPoint& point : CertifiedTradeOff(profile, alphas)) {
      const double exact = test.exact.beta(point.alpha);
      EXPECT_LE(point.beta.lower, exact + 1e-13) << test.exact.name << " " << point.alpha;
      EXPECT_GE(point.beta.upper, exact - 1e-13) << test.exact.name << " " << point.alpha;
      EXPECT_LE(point.beta.upper, 1 - point.alpha);
    }
  }
}

// Between two refinements the caller may stop the accountant.
TEST(GuaranteeTest, CanBeStopped) {
  PldOptions options;
  int calls = 0;
  options.check_cancelled = [&] {
    if (++calls == 3) throw Error(ErrorCode::kCancelled, "stopped");
  };
  try {
    GuaranteedBeta({{GaussianMechanism(1, {Adjacency::kAddRemove, 0.1}), 100}}, 0.05, 1, options);
    FAIL() << "it went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  EXPECT_EQ(calls, 3);
}

// Also while it cuts millions of cells, of which it asks for more than it can compose.
TEST(GuaranteeTest, CanBeStoppedWhileCellsAreMade) {
  PldOptions options;
  int calls = 0;
  options.check_cancelled = [&] {
    if (++calls == 60) throw Error(ErrorCode::kCancelled, "stopped");
  };
  try {
    PldEpsilon({{GaussianMechanism(0.01, {Adjacency::kAddRemove, 1e-8}), 1'000'000'000}}, 1e-5,
               options);
    FAIL() << "it went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  EXPECT_EQ(calls, 60);
}

}  // namespace
}  // namespace partita::privacy::testing::guarantee_test
