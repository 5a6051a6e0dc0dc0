// Comparisons of real and synthetic rows by hand, the combining rule by its formula and by its law,
// and the simulation of coverage.
#include "stats/mixture/utility.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "crypto/prg.h"
#include "stats/blr/variates.h"
#include "stats/mixture/combine.h"
#include "stats/mixture/coverage.h"
#include "tests/data/expect_error.h"

namespace partita::stats::mixture::utility_test {
namespace {

crypto::Prg Seeded(uint8_t seed) { return crypto::Prg(crypto::Key(std::array<uint8_t, 32>{seed})); }

Layout Model() {
  return MakeLayout({{"level", Family::kCategorical, 3, 1, 0},
                     {"flag", Family::kBernoulli, 0, 1, 0},
                     {"share", Family::kBeta, 0, 1, 1}});
}

TEST(UtilityTest, MarginalsAreComparedByTheirShares) {
  const Values real = {{0, 0, 1, 2}, {1, 1, 0, 0}, {0.05, 0.15, 0.15, 0.95}};
  const Values synthetic = {{0, 1}, {1, 0}, {0.151, 0.19}};
  const auto distances = CompareMarginals(Model(), real, synthetic);
  EXPECT_NEAR(distances[0].total_variation, 0.25, 1e-15);
  EXPECT_NEAR(distances[1].total_variation, 0, 1e-15);
  EXPECT_NEAR(distances[2].total_variation, 0.5, 1e-15);
  EXPECT_EQ(distances[2].name, "share");
  EXPECT_EQ(distances[0].real, (std::vector<double>{0.5, 0.25, 0.25}));
  EXPECT_EQ(distances[0].synthetic, (std::vector<double>{0.5, 0.5, 0}));
  EXPECT_THROW(CompareMarginals(Model(), real, {{}, {}, {}}), Error);
}

// Equal columns are fully associated, columns of a full product design not at all.
TEST(UtilityTest, PairsAreComparedByTheirShares) {
  const Layout layout = MakeLayout({{"a", Family::kCategorical, 2, 1, 0},
                                    {"b", Family::kCategorical, 20, 1, 0},
                                    {"c", Family::kBernoulli, 0, 1, 1}});
  // c goes with a or is independent of it: half of the pairs are elsewhere, of one pair of three.
  const Values together = {{0, 0, 1, 1}, {0, 0, 0, 0}, {0, 0, 1, 1}};
  const Values apart = {{0, 0, 1, 1}, {0, 0, 0, 0}, {0, 1, 0, 1}};
  EXPECT_EQ(PairDistance(layout, together, together), 0);
  EXPECT_NEAR(PairDistance(layout, together, apart), 0.5 / 3, 1e-12);
  // Levels 0 and 1 of twenty share a cell, 1 and 2 do not; b is in two of the three pairs.
  Values next = together, further = together;
  next[1] = {1, 1, 1, 1};
  further[1] = {2, 2, 2, 2};
  EXPECT_EQ(PairDistance(layout, together, next), 0);
  EXPECT_NEAR(PairDistance(layout, together, further), 2.0 / 3, 1e-12);
}

TEST(UtilityTest, AssociationsOfKnownTables) {
  const Layout layout = MakeLayout({{"a", Family::kBernoulli, 0, 1, 0},
                                    {"b", Family::kBernoulli, 0, 1, 0},
                                    {"constant", Family::kBernoulli, 0, 1, 0}});
  Values equal(3), product(3);
  for (int n = 0; n < 400; ++n) {
    const double a = n % 2, b = n / 2 % 2;
    equal[0].push_back(a);
    equal[1].push_back(a);
    product[0].push_back(a);
    product[1].push_back(b);
    equal[2].push_back(1);
    product[2].push_back(1);
  }
  const auto pairs = CompareAssociations(layout, equal, product);
  ASSERT_EQ(pairs.size(), 3);
  EXPECT_NEAR(pairs[0].real, 1, 0.003);  // the bias correction is of the order 1/n
  EXPECT_EQ(pairs[0].synthetic, 0);
  EXPECT_EQ(pairs[1].real, 0);
  EXPECT_EQ(pairs[1].second, "constant");
}

// P(flag) = 0.9, 0.5, 0.1 by level: the best rule guesses 0.9, 0.5 and 0.9 right; false alarms
// below 1e-6 (five standard errors of 6000 test rows and more).
TEST(UtilityTest, PredictionFindsTheRule) {
  crypto::Prg prg = Seeded(1);
  blr::Variates variates(prg);
  const auto draw = [&](size_t count) {
    Values values(3);
    for (size_t n = 0; n < count; ++n) {
      const auto level = static_cast<double>(variates.Below(3));
      values[0].push_back(level);
      values[1].push_back(variates.Uniform() < 0.9 - 0.4 * level ? 1 : 0);
      values[2].push_back(variates.Uniform());
    }
    return values;
  };
  const Values train = draw(6000), test = draw(6000);
  const PredictionScore score = TrainAndTest(Model(), train, test, "flag", 1);
  EXPECT_NEAR(score.accuracy, 2.3 / 3, 0.03);
  EXPECT_NEAR(score.auc, 0.837, 0.03);
  const double entropy = -0.9 * std::log(0.9) - 0.1 * std::log(0.1);
  EXPECT_NEAR(score.log_loss, (2 * entropy + std::log(2.0)) / 3, 0.03);
  // Training rows in which the target says nothing do not help.
  Values noise = train;
  for (double& flag : noise[1]) flag = variates.Uniform() < 0.5 ? 1 : 0;
  EXPECT_LT(TrainAndTest(Model(), noise, test, "flag", 1).accuracy, 0.72);
  // A level as target, and a class that no test row has.
  EXPECT_GT(TrainAndTest(Model(), train, test, "level", 0).auc, 0.7);
  Values one = test;
  one[1].assign(one[1].size(), 1);
  EXPECT_EQ(TrainAndTest(Model(), train, one, "flag", 1).auc, 0.5);
  ExpectError(ErrorCode::kBadInput, "no column 'other'", "",
              [&] { TrainAndTest(Model(), train, test, "other", 0); });
  ExpectError(ErrorCode::kBadInput, "column 'level' has no level 3", "",
              [&] { TrainAndTest(Model(), train, test, "level", 3); });
  ExpectError(ErrorCode::kBadInput, "column 'share' has no level", "",
              [&] { TrainAndTest(Model(), train, test, "share", 0); });
}

// Estimates 1, 2, 3 with variance 0.2: b = 1, T = 4/3 - 1/5 = 17/15, nu = 2 (1 - 3/20)^2 = 1.445.
// With variance 0.5 nu would be 0.78.
TEST(CombineTest, RuleByHand) {
  const CombinedEstimate combined =
      CombineSynthetic(std::array{1.0, 2.0, 3.0}, std::array{0.2, 0.2, 0.2}, 0.95);
  EXPECT_NEAR(combined.estimate, 2, 1e-15);
  EXPECT_NEAR(combined.variance, 17.0 / 15, 1e-15);
  EXPECT_NEAR(combined.degrees, 1.445, 1e-14);
  EXPECT_FALSE(combined.adjusted);
  EXPECT_NEAR(combined.estimate - combined.lower, combined.upper - combined.estimate, 1e-9);
  EXPECT_EQ(CombineSynthetic(std::array{1.0, 2.0, 3.0}, std::array{0.5, 0.5, 0.5}, 0.95).degrees,
            1);
  const CombinedEstimate adjusted =
      CombineSynthetic(std::array{1.0, 1.1}, std::array{0.25, 0.25}, 0.95);
  EXPECT_TRUE(adjusted.adjusted);
  EXPECT_NEAR(adjusted.upper - adjusted.estimate, 1.959964 * 0.5, 1e-6);
  EXPECT_THROW(CombineSynthetic(std::array{1.0}, std::array{1.0}, 0.95), Error);
  EXPECT_THROW(CombineSynthetic(std::array{1.0, 2.0}, std::array{1.0}, 0.95), Error);
  EXPECT_THROW(CombineSynthetic(std::array{1.0, 2.0}, std::array{1.0, -1.0}, 0.95), Error);
  EXPECT_THROW(CombineSynthetic(std::array{1.0, 2.0}, std::array{1.0, 1.0}, 1), Error);
}

// Where its assumptions hold, the rule covers: a normal mean with a flat prior, sets of n rows
// drawn from N(mu*, 1), mu* from the posterior. 2000 replicates; 95 % +- 5 standard errors and the
// rule's own approximation (its authors report 94 to 97 %).
TEST(CombineTest, RuleCoversWhereTheModelIsRight) {
  crypto::Prg prg = Seeded(2);
  blr::Variates variates(prg);
  constexpr double kRows = 50;
  constexpr int kReplicates = 2000;
  int covered = 0;
  for (int r = 0; r < kReplicates; ++r) {
    const double mean = variates.Normal() / std::sqrt(kRows);  // of the real rows; the truth is 0
    std::array<double, 20> estimates{}, variances{};
    for (size_t set = 0; set < estimates.size(); ++set) {
      const double drawn = mean + variates.Normal() / std::sqrt(kRows);
      estimates[set] = drawn + variates.Normal() / std::sqrt(kRows);
      variances[set] = 1 / kRows;
    }
    const CombinedEstimate combined = CombineSynthetic(estimates, variances, 0.95);
    covered += combined.lower <= 0 && 0 <= combined.upper ? 1 : 0;
  }
  EXPECT_GE(covered, 0.92 * kReplicates);
}

// Small, so that it is quick: what must hold for any size. With 40 replicates the real intervals
// contain the truth in at least 30 except with probability below 1e-6.
TEST(CoverageTest, RealIntervalsCoverAndSyntheticOnesAreReported) {
  crypto::Prg prg = Seeded(3);
  SilentProgress silent;
  CoverageOptions options;
  options.replicates = 40;
  options.rows = 200;
  options.steps = 300;
  options.components = 3;
  options.sets = 5;
  const Coverage coverage = SimulateCoverage(options, prg, silent);
  EXPECT_GE(coverage.real.share, 0.75);
  EXPECT_NEAR(coverage.real.mean_estimate, 0.5, 0.06);
  EXPECT_GE(coverage.single.mean_width, 0.05);
  EXPECT_GE(coverage.combined.mean_width, 0.05);
  EXPECT_LE(coverage.combined.share, 1 + 1e-12);
  EXPECT_LE(coverage.adjusted, 40);
  options.sets = 1;
  EXPECT_THROW(SimulateCoverage(options, prg, silent), Error);
}

}  // namespace
}  // namespace partita::stats::mixture::utility_test
