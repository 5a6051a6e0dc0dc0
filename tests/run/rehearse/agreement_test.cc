// What a rehearsal takes for agreement: digits, laws of noise, and bets on coins.
#include "run/rehearse/agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "run/rehearse/rehearsal.h"

namespace partita::run::agreement_test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(AgreementTest, DigitsOfAgreement) {
  EXPECT_EQ(DigitsOfAgreement(1.5, 1.5, 0.1), kAllDigits);
  // 2.002 and 2 differ by a thousandth: three digits.
  EXPECT_NEAR(DigitsOfAgreement(2.002, 2, 0.1), 3, 1e-12);
  // A number near 0 is compared on its scale.
  EXPECT_DOUBLE_EQ(DigitsOfAgreement(1e-7, 0, 0.1), 6);
  EXPECT_EQ(DigitsOfAgreement(-2, 2, 0), 0);
  EXPECT_EQ(DigitsOfAgreement(1, 0, 0), 0);
  EXPECT_EQ(DigitsOfAgreement(kNaN, 1, 1), 0);
  EXPECT_EQ(DigitsOfAgreement(1, HUGE_VAL, 1), 0);
}

TEST(AgreementTest, OfManyNumbersTheWorstIsKept) {
  Agreement agreement;
  agreement.AddAll("a", "three", std::vector<double>{1, 2.002, 3}, std::vector<double>{1, 2, 3});
  EXPECT_EQ(agreement.exact[0].count, 3u);
  EXPECT_EQ(agreement.exact[0].run, 2.002);
  EXPECT_NEAR(agreement.exact[0].digits, 3, 1e-12);
  agreement.AddAll("a", "one more", std::vector<double>{1, 2}, std::vector<double>{1});
  EXPECT_EQ(agreement.exact[1].digits, 0);
  agreement.AddAll("a", "none", std::vector<double>(), std::vector<double>());
  EXPECT_EQ(agreement.exact[2].digits, kAllDigits);
}

// Numbers at the middle of n equal parts of the normal law, by bisection: mean 0, deviation near 1.
std::vector<double> NormalScores(size_t n) {
  std::vector<double> scores;
  for (size_t i = 0; i < n; ++i) {
    const double below = (static_cast<double>(i) + 0.5) / static_cast<double>(n);
    double low = -10, high = 10;
    for (int step = 0; step < 80; ++step) {
      const double middle = (low + high) / 2;
      (std::erfc(-middle / std::sqrt(2.0)) / 2 < below ? low : high) = middle;
    }
    scores.push_back(low);
  }
  return scores;
}

TEST(AgreementTest, NormalNumbersAreLikelyAndOthersAreNot) {
  const std::vector<double> scores = NormalScores(400);
  const RandomNumbers right = IndependentNormals("a", "noise", scores);
  EXPECT_EQ(right.count, 400u);
  EXPECT_NEAR(right.mean, 0, 1e-12);
  EXPECT_NEAR(right.deviation, 1, 0.01);
  EXPECT_GT(right.p_value, 0.5);
  // Twice and half the noise, a shift of half a deviation, one number at seven deviations: each has
  // a probability below 1e-8, of 400 numbers.
  const auto changed = [&](double times, double plus) {
    std::vector<double> other;
    for (const double score : scores) other.push_back(times * score + plus);
    return IndependentNormals("a", "noise", other).p_value;
  };
  EXPECT_LT(changed(2, 0), 1e-8);
  EXPECT_LT(changed(0.5, 0), 1e-8);
  EXPECT_LT(changed(1, 0.5), 1e-8);
  std::vector<double> one = scores;
  one[7] = 7;
  EXPECT_LT(IndependentNormals("a", "noise", one).p_value, 1e-8);
  EXPECT_LT(DependentNormals("a", "noise", one).p_value, 1e-8);
  one[7] = kNaN;
  EXPECT_EQ(IndependentNormals("a", "noise", one).p_value, 0);
  EXPECT_EQ(DependentNormals("a", "noise", one).p_value, 0);
  EXPECT_EQ(IndependentNormals("a", "noise", {}).p_value, 1);
}

// All equal numbers are one number: no sum of them is tested.
TEST(AgreementTest, DependentNumbersAreJudgedByTheLargest) {
  const std::vector<double> same(100, 2.0);
  EXPECT_LT(IndependentNormals("a", "noise", same).p_value, 1e-50);
  EXPECT_EQ(DependentNormals("a", "noise", same).p_value, 1);
}

// The 97.5 % points, by the closed form of Student's law for even degrees.
TEST(AgreementTest, StudentsNumbersBecomeNormalOnes) {
  EXPECT_NEAR(NormalOfStudent(2.2281388519862744, 10), 1.959963984540054, 1e-12);
  EXPECT_NEAR(NormalOfStudent(-2.2281388519862744, 10), -1.959963984540054, 1e-12);
  EXPECT_EQ(NormalOfStudent(0, 3), 0);
  EXPECT_EQ(NormalOfStudent(HUGE_VAL, 3), HUGE_VAL);
}

// The promise of Coins, by all outcomes of twelve coins whose chances depend on those before: p is
// below any level with at most that probability.
TEST(AgreementTest, BetsOnCoinsAreFair) {
  constexpr size_t kCoins = 12;
  std::vector<std::pair<double, double>> outcomes;  // p and probability
  for (uint32_t outcome = 0; outcome < 1u << kCoins; ++outcome) {
    Coins coins;
    double probability = 1;
    uint32_t heads = 0;
    for (size_t i = 0; i < kCoins; ++i) {
      const double chance = 0.05 + 0.9 * (heads + 1) / static_cast<double>(i + 2);
      const bool fell = (outcome >> i & 1) != 0;
      probability *= fell ? chance : 1 - chance;
      coins.Add(fell, chance);
      heads += fell ? 1 : 0;
    }
    outcomes.emplace_back(coins.Result("a", "coins").p_value, probability);
  }
  for (const double level : {0.5, 0.1, 0.01, 0.001}) {
    double rejected = 0;
    for (const auto& [p, probability] : outcomes) rejected += p <= level ? probability : 0;
    EXPECT_LE(rejected, level);
  }
}

TEST(AgreementTest, CoinsThatFollowOtherChancesAreNoticed) {
  // Chances 0.1 and 0.9 in turn, 200 coins: these fall as they should, 20 and 180 of 200.
  Coins right, fair, turned;
  for (int i = 0; i < 400; ++i) {
    const double chance = i % 2 == 0 ? 0.1 : 0.9;
    const bool rare = i % 20 < 2;  // one in ten of either
    right.Add(i % 2 == 0 ? rare : !rare, chance);
    fair.Add(i % 4 < 2, chance);
    turned.Add(i % 2 == 0 ? !rare : rare, chance);
  }
  EXPECT_GT(right.Result("a", "coins").p_value, 0.1);
  EXPECT_NEAR(right.Result("a", "coins").mean, 0, 1e-9);
  EXPECT_LT(fair.Result("a", "coins").p_value, 1e-12);
  EXPECT_LT(turned.Result("a", "coins").p_value, 1e-12);
  Coins impossible;
  impossible.Add(true, 0);
  EXPECT_LT(impossible.Result("a", "coins").p_value, 1e-12);
}

TEST(AgreementTest, ARehearsalFailsForAnyReason) {
  Rehearsal rehearsal;
  rehearsal.costs.agree = true;
  EXPECT_FALSE(rehearsal.passed(6)) << "nothing was compared";
  rehearsal.agreement.Add("a", "x", 1, 1 + 1e-7);
  EXPECT_TRUE(rehearsal.passed(6));
  EXPECT_FALSE(rehearsal.passed(8));
  rehearsal.costs.agree = false;
  EXPECT_FALSE(rehearsal.passed(6));
  rehearsal.costs.agree = true;
  for (bool* converged :
       {&rehearsal.agreement.run_converged, &rehearsal.agreement.plain_converged}) {
    *converged = false;
    EXPECT_FALSE(rehearsal.passed(6));
    *converged = true;
  }
  // Of two comparisons each has half of the false alarms.
  rehearsal.agreement.random = {RandomNumbers{"a", "noise"}, RandomNumbers{"a", "coins"}};
  rehearsal.agreement.random[0].p_value = 0.6e-6;
  EXPECT_TRUE(rehearsal.passed(6));
  EXPECT_DOUBLE_EQ(rehearsal.p_value(), 1.2e-6);
  rehearsal.agreement.random[0].p_value = 0.4e-6;
  EXPECT_FALSE(rehearsal.passed(6));
}

}  // namespace
}  // namespace partita::run::agreement_test
