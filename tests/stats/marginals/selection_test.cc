// Pairs chosen by scores: the whole numbers that independence expects, scores, the choice, and what
// generators make of tables of which some were not measured.
#include "stats/marginals/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "stats/marginals/forecast.h"
#include "stats/marginals/intervals.h"
#include "stats/marginals/junction_tree.h"
#include "tests/stats/marginals/coded_table.h"

namespace partita::stats::marginals::selection_test {
namespace {

TableSet Three() { return AllTables({{"a", 2}, {"b", 3}, {"c", 2}}); }

TEST(MarginalSelection, IndependentCountsAreProductsOfShares) {
  const TableSet set = Three();
  const std::vector<int64_t> one_way = {30, 70, 10, 20, 70, 100, 0};
  EXPECT_EQ(IndependentCounts(set, one_way, 100, 100),
            (std::vector<int64_t>{3, 6, 21, 7, 14, 49,  // a, b
                                  30, 0, 70, 0,         // a, c
                                  10, 0, 20, 0, 70, 0}));
}

// Noise makes counts negative, sums unequal or nothing; each is a number from 0 to `most`.
TEST(MarginalSelection, IndependentCountsOfAnyOpening) {
  const TableSet set = Three();
  const auto independent = [&](std::vector<int64_t> one_way, std::optional<uint64_t> rows,
                               uint64_t most) {
    return IndependentCounts(set, one_way, rows, most);
  };
  // -5 counts as 0; sums of 40 and 60 are shares of the 100 rows.
  EXPECT_EQ(independent({-5, 40, 15, 15, 30, 1, 1}, 100, 100),
            (std::vector<int64_t>{0, 0, 0, 25, 25, 50, 0, 0, 50, 50, 13, 13, 13, 13, 25, 25}));
  // Nothing left: equal shares.
  EXPECT_EQ(independent({-5, -9, 0, 0, 0, -1, 0}, 12, 12),
            (std::vector<int64_t>{2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2}));
  // Rows unknown: the sum of "a", which has fewest levels and comes first; never above `most`.
  EXPECT_EQ(independent({10, 10, 5, 5, 0, 50, 0}, {}, 100)[0], 5);
  EXPECT_EQ(independent({10, 10, 5, 5, 0, 50, 0}, {}, 15)[0], 4);
  for (const int64_t count :
       independent({int64_t{1} << 40, 0, int64_t{1} << 60, 0, 0, -7, 3}, {}, 1000)) {
    EXPECT_GE(count, 0);
    EXPECT_LE(count, 1000);
  }
  // The largest studies do not overflow.
  const int64_t huge = 10'000'000'000;
  EXPECT_EQ(independent({huge, 0, huge, 0, 0, huge, 0}, huge, huge)[0], huge);
  EXPECT_THROW(independent({1, 2, 3}, 10, 10), Error);
}

TEST(MarginalSelection, AScoreIsTheDistanceFromIndependence) {
  const TableSet set = Three();
  // b copies a, but for its last level; c is alone.
  const Codes codes = {{0, 0, 1, 1}, {0, 0, 1, 1}, {0, 1, 0, 1}};
  const std::vector<double> counts = Count(set, codes);
  std::vector<int64_t> one_way;
  for (size_t i = 0; i < OneWayCells(set); ++i) one_way.push_back(std::llround(counts[i]));
  const std::vector<int64_t> independent = IndependentCounts(set, one_way, 4, 4);
  EXPECT_EQ(ScoresOf(set, counts, independent), (std::vector<double>{4, 0, 0}));
  EXPECT_EQ(NumPairs(set), 3u);
  EXPECT_EQ(PairCells(set), 16u);
  EXPECT_EQ(MostCells(set, 1), 6u);
  EXPECT_EQ(MostCells(set, 2), 12u);
}

TEST(MarginalSelection, AForestFirstThenTheStrongest) {
  // Pairs: ab ac ad bc bd cd. ab, ac and bc are strong, a circle; only two of them are of a forest.
  const TableSet set = AllTables({{"a", 2}, {"b", 2}, {"c", 2}, {"d", 2}});
  const std::vector<int64_t> scores = {90, 80, 10, 70, 5, 1};
  EXPECT_EQ(ChoosePairs(set, scores, 1, 1), (std::vector<size_t>{4}));
  EXPECT_EQ(ChoosePairs(set, scores, 1, 3), (std::vector<size_t>{4, 5, 6}));
  EXPECT_EQ(ChoosePairs(set, scores, 1, 4), (std::vector<size_t>{4, 5, 6, 7}));
  EXPECT_EQ(ChoosePairs(set, scores, 1, 6).size(), 6u);
  // Equal scores: the first ones, at every party.
  EXPECT_EQ(ChoosePairs(set, std::vector<int64_t>(6, 3), 1, 2), (std::vector<size_t>{4, 5}));
  EXPECT_THROW(ChoosePairs(set, scores, 1, 7), Error);
  EXPECT_THROW(ChoosePairs(set, std::vector<int64_t>(5, 3), 1, 2), Error);
}

// A table of many cells costs more noise than its score is worth.
TEST(MarginalSelection, NoiseOfATableCounts) {
  const TableSet set = AllTables({{"a", 2}, {"b", 2}, {"c", 20}});
  const std::vector<int64_t> scores = {50, 100, 0};  // ab, 4 cells; ac, 40 cells; bc
  EXPECT_EQ(ChoosePairs(set, scores, 0.1, 1), (std::vector<size_t>{4}));
  EXPECT_EQ(ChoosePairs(set, scores, 10, 1), (std::vector<size_t>{3}));
}

// A junction tree of pairs that are too large is not grown: others come first.
TEST(MarginalSelection, AForestFitsIntoTheMemory) {
  const TableSet set = AllTables({{"a", 290}, {"b", 290}, {"c", 4}, {"d", 4}});
  const std::vector<int64_t> scores = {1'000'000, 9, 8, 7, 6, 5};
  EXPECT_EQ(ChoosePairs(set, scores, 0, 3), (std::vector<size_t>{5, 6, 7}));
  EXPECT_EQ(ChoosePairs(set, scores, 0, 4), (std::vector<size_t>{5, 6, 7, 8}));
  // When nothing else is left of the agreed number.
  EXPECT_EQ(ChoosePairs(set, scores, 0, 6), (std::vector<size_t>{4, 5, 6, 7, 8, 9}));
}

// Twelve columns of which 2k and 2k + 1 are copies: with little noise these six pairs are found, and
// the generator has them although it knows nothing of sixty others.
TEST(MarginalSelection, PairsThatMatterAreFoundAndFitted) {
  std::vector<Attribute> attributes;
  for (size_t a = 0; a < 12; ++a)
    attributes.push_back({std::string(1, static_cast<char>('a' + a)), 3});
  const TableSet set = AllTables(attributes);
  crypto::Prg source = SeededSource(5);
  blr::Variates variates(source);
  Codes codes(12, std::vector<uint16_t>(3000));
  for (size_t n = 0; n < 3000; ++n) {
    for (size_t a = 0; a < 12; a += 2) {
      codes[a][n] = codes[a + 1][n] = static_cast<uint16_t>(3 * variates.Uniform());
    }
  }
  const std::vector<double> counts = Count(set, codes);
  const Selection selection = {8, 1, 0.5, 2};
  const NoisyTables noisy = MeasureByScores(set, counts, selection, 10, 3000.0, source);
  size_t measured = 0;
  for (size_t t = 12; t < set.tables.size(); ++t) {
    const CountTable& table = set.tables[t];
    measured += noisy.Measured(t) ? 1 : 0;
    if (table.first % 2 == 0 && table.second == table.first + 1) {
      EXPECT_TRUE(noisy.Measured(t));
    }
    if (noisy.Measured(t)) {
      EXPECT_DOUBLE_EQ(noisy.Stddev(t), 5);
      continue;
    }
    for (const double cell : table.Of(std::span<const double>(noisy.cells))) EXPECT_EQ(cell, 0);
  }
  EXPECT_EQ(measured, 8u);
  const Choice choice = ChooseGenerator(set, noisy, source);
  std::vector<double> truth = counts;
  for (double& share : truth) share /= 3000;
  const std::vector<double> made = TablesOf(set, choice.generator);
  for (const double share : made) EXPECT_TRUE(std::isfinite(share));
  EXPECT_FALSE(choice.IsIndependent());
  // Independent columns would be 2/3 * 1/11 = 0.06 off in the mean over pairs, by the copies alone.
  EXPECT_LT(MeanOf(set, TotalVariations(set, truth, made)).pairs, 0.03);
  for (size_t t = 0; t < set.tables.size(); ++t) {
    if (noisy.Measured(t)) continue;
    EXPECT_EQ(choice.distances[t].estimate, 0);
    EXPECT_EQ(choice.distances[t].standard_error, 0);
  }
  // Intervals want all pairs of their columns.
  EXPECT_NO_THROW(TablesAmong(set, noisy, {0, 1}));
  size_t refused = 0;
  for (uint32_t a = 1; a < 12; ++a) {
    try {
      TablesAmong(set, noisy, {0, a});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      ++refused;
    }
  }
  EXPECT_GE(refused, 8u);
}

// A rehearsal chooses, too: its noise on pairs is smaller than where all are measured.
TEST(MarginalSelection, ForecastsRehearseTheChoice) {
  std::vector<Attribute> attributes;
  for (size_t a = 0; a < 8; ++a)
    attributes.push_back({std::string(1, static_cast<char>('a' + a)), 3});
  const TableSet set = AllTables(attributes);
  crypto::Prg source = SeededSource(6);
  const Selection selection = {7, 1, 1, 1};
  for (const std::vector<double>& variations : Forecast(set, 2000, 10, {}, {}, selection, source)) {
    ASSERT_EQ(variations.size(), set.tables.size());
    const MeanVariation mean = MeanOf(set, variations);
    EXPECT_GT(mean.pairs, 0);
    EXPECT_LT(mean.pairs, 0.2);
    EXPECT_LT(mean.one_way, 0.05);
  }
}

}  // namespace
}  // namespace partita::stats::marginals::selection_test
