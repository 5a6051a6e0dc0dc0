// The audit in one run: its p-value against plain sums, no false alarm, and a planted fault found.
#include "tests/privacy/audit/one_run.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/privacy/audit/worlds.h"

namespace partita::privacy::one_run_test {
namespace {

double BinomialMass(double trials, double hits, double p) {
  return std::exp(std::lgamma(trials + 1) - std::lgamma(hits + 1) - std::lgamma(trials - hits + 1) +
                  hits * std::log(p) + (trials - hits) * std::log1p(-p));
}

// The formula, term by term.
double PlainPValue(const Guesses& guesses, double epsilon, double delta) {
  const double p = 1 / (1 + std::exp(-epsilon));
  const auto r = static_cast<double>(guesses.made);
  const auto v = static_cast<double>(guesses.right);
  double beta = 0;
  for (double k = v; k <= r; ++k) beta += BinomialMass(r, k, p);
  double largest = 0;
  double sum = 0;
  for (double i = 1; i <= v; ++i) {
    sum += BinomialMass(r, v - i, p);
    largest = std::max(largest, sum / i);
  }
  return std::min(1.0, beta + 2 * static_cast<double>(guesses.canaries) * delta * largest);
}

TEST(OneRunTest, ThePValueIsTheFormula) {
  for (const Guesses& guesses :
       {Guesses{100, 100, 80}, Guesses{500, 60, 59}, Guesses{40, 40, 15}, Guesses{10, 10, 10}}) {
    for (const double epsilon : {0.0, 0.5, 2.0}) {
      for (const double delta : {0.0, 1e-6, 1e-2}) {
        const double plain = PlainPValue(guesses, epsilon, delta);
        EXPECT_NEAR(OneRunPValue(guesses, epsilon, delta), plain, 1e-9 * plain);
      }
    }
  }
}

TEST(OneRunTest, TheLowerBoundIsWhereThePValueIsAlpha) {
  const Guesses guesses{10000, 400, 380};
  for (const double delta : {0.0, 1e-12}) {
    const double found = OneRunEpsilonLower(guesses, delta, 1e-6);
    EXPECT_GT(found, 1.5);
    EXPECT_NEAR(OneRunPValue(guesses, found, delta), 1e-6, 1e-11);
  }
  // 2 m delta is 2 %: no number of right guesses refutes anything at this error rate.
  EXPECT_EQ(OneRunEpsilonLower(guesses, 1e-6, 1e-6), 0);
  EXPECT_EQ(OneRunEpsilonLower({1000, 1000, 500}, 0, 1e-6), 0);
}

// Each canary adds 1 to a number of its own, by a fair coin; the number is published with discrete
// Laplace noise of this scale, so that the release is 1/scale-private for each.
Guesses AuditOnce(double scale, uint64_t seed) {
  constexpr size_t kCanaries = 20000;
  crypto::Prg random = SeededStream(seed);
  std::vector<bool> included(kCanaries);
  std::vector<double> scores(kCanaries);
  const DiscreteLaplace noise(ScaleOf(scale));
  for (size_t i = 0; i < kCanaries; ++i) {
    std::array<uint8_t, 1> coin{};
    random.Fill(coin);
    included[i] = coin[0] % 2 == 0;
    scores[i] = (included[i] ? 1 : 0) + static_cast<double>(noise.Sample(random));
  }
  return GuessByScore(scores, included, 8000);
}

TEST(OneRunTest, RightNoiseIsNotFlagged) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_LE(OneRunEpsilonLower(AuditOnce(1, seed), 0, 1e-6), 1) << seed;
  }
  EXPECT_GT(OneRunEpsilonLower(AuditOnce(1, 1), 0, 1e-6), 0.8);
}

TEST(OneRunTest, HalvedScaleIsFound) {
  EXPECT_GT(OneRunEpsilonLower(AuditOnce(0.5, 3), 0, 1e-6), 1.5);
}

TEST(OneRunTest, GuessesAreCountedByRank) {
  const std::vector<double> scores = {0.5, 3, -1, 2};
  const std::vector<bool> included = {true, true, true, false};
  const Guesses two = GuessByScore(scores, included, 2);
  EXPECT_EQ(two.canaries, 4u);
  EXPECT_EQ(two.made, 2u);
  EXPECT_EQ(two.right, 1u);  // the highest is in; the lowest is in as well
  EXPECT_EQ(GuessByScore(scores, included, 4).right, 1u);
}

TEST(OneRunTest, RefusesWhatIsNoAudit) {
  EXPECT_THROW(OneRunPValue({10, 5, 6}, 1, 0), Error);
  EXPECT_THROW(OneRunPValue({10, 11, 6}, 1, 0), Error);
  EXPECT_THROW(OneRunPValue({10, 0, 0}, 1, 0), Error);
  EXPECT_THROW(OneRunPValue({10, 5, 5}, -1, 0), Error);
  EXPECT_THROW(OneRunPValue({10, 5, 5}, std::nan(""), 0), Error);
  EXPECT_THROW(OneRunPValue({10, 5, 5}, 1, 1), Error);
  EXPECT_THROW(GuessByScore(std::vector<double>{1, 2}, {true}, 2), Error);
  EXPECT_THROW(GuessByScore(std::vector<double>{1, 2}, {true, false}, 3), Error);
  EXPECT_THROW(GuessByScore(std::vector<double>{1, 2}, {true, false}, 1), Error);
}

}  // namespace
}  // namespace partita::privacy::one_run_test
