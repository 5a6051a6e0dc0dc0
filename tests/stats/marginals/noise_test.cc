// What a release of all tables may tell: sensitivities by enumeration, the law of the noise.
#include "stats/marginals/noise.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "stats/marginals/selection.h"
#include "tests/stats/marginals/coded_table.h"
#include "tests/stats/marginals/joint.h"

namespace partita::stats::marginals::noise_test {
namespace {

using privacy::Adjacency;

constexpr Triple kAll = {0, 1, 2};

TableSet Tiny(std::span<const Triple> triples = {}) {
  return AllTables({{"a", 2}, {"b", 3}, {"c", 2}}, triples);
}

// Rows as cells of the joint table.
std::vector<double> CountCells(const TableSet& set, const std::vector<size_t>& rows) {
  static const Codes kCells = AllCells(Tiny());
  Codes codes(3);
  for (const size_t row : rows) {
    for (size_t a = 0; a < 3; ++a) codes[a].push_back(kCells[a][row]);
  }
  return Count(set, codes);
}

double Distance(const std::vector<double>& first, const std::vector<double>& second) {
  double sum = 0;
  for (size_t i = 0; i < first.size(); ++i) sum += (first[i] - second[i]) * (first[i] - second[i]);
  return std::sqrt(sum);
}

// Every table of up to two rows, and every neighbour: the largest distance IS the sensitivity.
void ExpectAttained(const TableSet& set) {
  const Codes cells = AllCells(set);
  const std::vector<size_t> holders = {0, 1, 1};
  double added = 0, replaced = 0;
  std::array<double, 2> of_others{};
  for (size_t first = 0; first < 12; ++first) {
    for (size_t other = 0; other <= 12; ++other) {
      std::vector<size_t> rows = {first};
      if (other < 12) rows.push_back(other);
      const std::vector<double> counts = CountCells(set, rows);
      for (size_t now = 0; now < 12; ++now) {
        std::vector<size_t> more = rows, changed = rows;
        more.push_back(now);
        changed[0] = now;
        added = std::max(added, Distance(counts, CountCells(set, more)));
        const double distance = Distance(counts, CountCells(set, changed));
        replaced = std::max(replaced, distance);
        for (size_t holder = 0; holder < 2; ++holder) {
          bool keeps_own = true;
          for (size_t a = 0; a < 3; ++a) {
            keeps_own &= holders[a] != holder || cells[a][first] == cells[a][now];
          }
          if (keeps_own) of_others[holder] = std::max(of_others[holder], distance);
        }
      }
    }
  }
  const auto bound = [](size_t tables, Adjacency adjacency) {
    return TablesSensitivity(tables, adjacency, 1).value();
  };
  const size_t tables = set.tables.size();
  EXPECT_DOUBLE_EQ(added, bound(tables, Adjacency::kAddRemove));
  EXPECT_DOUBLE_EQ(replaced, bound(tables, Adjacency::kReplace));
  EXPECT_GE(bound(tables, Adjacency::kAddRemove), added);
  EXPECT_GE(bound(tables, Adjacency::kReplace), replaced);
  // The holder of `a` has one table to itself; the holder of `b` and `c` three.
  EXPECT_EQ(TablesWithForeign(set, holders, 0), tables - 1);
  EXPECT_EQ(TablesWithForeign(set, holders, 1), tables - 3);
  EXPECT_DOUBLE_EQ(of_others[0], bound(tables - 1, Adjacency::kReplace));
  EXPECT_DOUBLE_EQ(of_others[1], bound(tables - 3, Adjacency::kReplace));
}

TEST(MarginalNoise, SensitivitiesAreAttained) { ExpectAttained(Tiny()); }

// The table of all three columns is one more.
TEST(MarginalNoise, SensitivitiesWithTriplesAreAttained) {
  const TableSet set = Tiny({&kAll, 1});
  ASSERT_EQ(set.tables.size(), 7u);
  ExpectAttained(set);
}

// Its exact square is never below that of the true sensitivity, whichever way a root was rounded.
TEST(MarginalNoise, SensitivitiesAreRoundedUp) {
  for (size_t tables = 1; tables <= 5050; ++tables) {
    const double root = TablesSensitivity(tables, Adjacency::kReplace, 1).value();
    const double square = 2 * static_cast<double>(tables);
    EXPECT_GE(std::fma(root, root, -square), 0) << tables;
    EXPECT_LE(root, std::sqrt(square) * (1 + 1e-15)) << tables;
  }
}

// The same with weights: every pair of neighbours of one row, each table times its lift.
TEST(MarginalNoise, SensitivitiesWithWeightsAreAttained) {
  const TableSet set = Tiny();
  const std::vector<uint64_t> lifts = {kUnitLift, 2 * kUnitLift, 3, 5 * kUnitLift, 7, 11};
  const auto lifted = [&](const std::vector<size_t>& rows) {
    std::vector<double> cells = CountCells(set, rows);
    for (size_t t = 0; t < lifts.size(); ++t) {
      for (double& cell : set.tables[t].Of(std::span<double>(cells)))
        cell *= static_cast<double>(lifts[t]);
    }
    return cells;
  };
  double added = 0, replaced = 0;
  for (size_t first = 0; first < 12; ++first) {
    added = std::max(added, Distance(lifted({}), lifted({first})));
    for (size_t now = 0; now < 12; ++now)
      replaced = std::max(replaced, Distance(lifted({first}), lifted({now})));
  }
  const double add = LiftedSensitivity(lifts, Adjacency::kAddRemove, 1).value(),
               replace = LiftedSensitivity(lifts, Adjacency::kReplace, 1).value();
  EXPECT_DOUBLE_EQ(added, add);
  EXPECT_DOUBLE_EQ(replaced, replace);
  EXPECT_GE(add, added);
  EXPECT_GE(replace, replaced);
  // Of weight 1 it is the one of tables.
  for (const size_t tables : {1, 6, 120, 5050}) {
    const std::vector<uint64_t> equal(tables, kUnitLift);
    EXPECT_EQ(LiftedSensitivity(equal, Adjacency::kReplace, 2).value(),
              OnNoiseGrid(TablesSensitivity(tables, Adjacency::kReplace, 2)).value());
  }
}

// Scores for fixed whole numbers c, every table of up to two rows and every neighbour: whatever opened
// before, that is the most a row changes; some c attain it. One vector of one-way tables, scores
// and the counts of two pairs, each times a lift of its own.
TEST(MarginalNoise, SensitivitiesWithScoresAreAttained) {
  const TableSet set = Tiny();
  constexpr size_t kFirst = 4, kPairCells = 16;  // the row that leaves; cells of the pairs
  const size_t before = OneWayCells(set);
  ASSERT_EQ(set.num_cells, before + kPairCells);
  // Nothing expected, more than there are, and nothing where the row is but much elsewhere.
  std::vector<std::vector<int64_t>> expected = {std::vector<int64_t>(kPairCells, 0),
                                                std::vector<int64_t>(kPairCells, 3),
                                                std::vector<int64_t>(kPairCells, 3)};
  for (size_t i = 0; i < kPairCells; ++i) {
    if (CountCells(set, {kFirst})[before + i] > 0) expected[2][i] = 0;
  }
  const std::vector<uint64_t> counts = {5, 5, 5, 7, 7}, scores = {3, 3, 3};
  const auto opens = [&](const std::vector<size_t>& rows, const std::vector<int64_t>& c) {
    const std::vector<double> cells = CountCells(set, rows);
    std::vector<double> opened;
    for (size_t i = 0; i < before; ++i) opened.push_back(5 * cells[i]);
    for (const double score : ScoresOf(set, cells, c)) opened.push_back(3 * score);
    for (size_t t = 3; t < 5; ++t) {
      for (const double cell : set.tables[t].Of(std::span<const double>(cells)))
        opened.push_back(7 * cell);
    }
    return opened;
  };
  double added = 0, replaced = 0;
  for (const std::vector<int64_t>& c : expected) {
    for (size_t first = 0; first < 12; ++first) {
      for (size_t other = 0; other <= 12; ++other) {
        std::vector<size_t> rows = {first};
        if (other < 12) rows.push_back(other);
        for (size_t now = 0; now < 12; ++now) {
          std::vector<size_t> more = rows, changed = rows;
          more.push_back(now);
          changed[0] = now;
          added = std::max(added, Distance(opens(rows, c), opens(more, c)));
          replaced = std::max(replaced, Distance(opens(rows, c), opens(changed, c)));
        }
      }
    }
  }
  EXPECT_DOUBLE_EQ(added, ScoredSensitivity(counts, scores, Adjacency::kAddRemove, 1).value());
  EXPECT_DOUBLE_EQ(replaced, ScoredSensitivity(counts, scores, Adjacency::kReplace, 1).value());
  EXPECT_DOUBLE_EQ(added, std::sqrt(3 * 25 + 2 * 49 + 3 * 9));
  EXPECT_DOUBLE_EQ(replaced, std::sqrt(2 * (3 * 25 + 2 * 49) + 4 * 3 * 9));
  EXPECT_DOUBLE_EQ(ScoredSensitivity(counts, scores, Adjacency::kReplace, 4).value(), 4 * replaced);
}

TEST(MarginalNoise, PersonsOfSeveralRows) {
  const TableSet set = Tiny();
  const double moved = Distance(CountCells(set, {0, 0, 0}), CountCells(set, {11, 11, 11}));
  EXPECT_DOUBLE_EQ(moved, TablesSensitivity(6, Adjacency::kReplace, 3).value());
  const double added = Distance(CountCells(set, {}), CountCells(set, {5, 5, 5}));
  EXPECT_DOUBLE_EQ(added, TablesSensitivity(6, Adjacency::kAddRemove, 3).value());
}

// On the grid thousands of cells are accounted as one Gaussian; on whole numbers they are not.
TEST(MarginalNoise, GridIsFineEnough) {
  const TableSet set = ReadCoded("tables/adult_train.csv.gz", "tables/adult_test.csv.gz").set;
  const privacy::Epsilon epsilon(3);
  const privacy::Delta delta(1e-5);
  const privacy::L2Sensitivity sensitivity =
      TablesSensitivity(set.tables.size(), Adjacency::kReplace, 1);
  const double continuous = privacy::AnalyticGaussianStddev(sensitivity, epsilon, delta);
  const double ours = NoiseStddev(CuratorNoise(set, Adjacency::kReplace, 1, epsilon, delta));
  EXPECT_GE(ours, continuous);
  EXPECT_LT(ours, continuous * (1 + 1e-6));
  const double on_whole_numbers = privacy::StddevUpperBound(privacy::CalibrateDiscreteGaussian(
      privacy::GridL2Sensitivity(sensitivity.value()), set.num_cells, epsilon, delta));
  EXPECT_GT(on_whole_numbers, continuous * 1.05);
}

TEST(MarginalNoise, HasItsLaw) {
  const TableSet set = Tiny();
  const privacy::GridVariance variance =
      CuratorNoise(set, Adjacency::kReplace, 1, privacy::Epsilon(1), privacy::Delta(1e-5));
  crypto::Prg source = SeededSource(8);
  std::vector<double> cells(200000, 5);
  AddNoise(variance, source, cells);
  double mean = 0, square = 0;
  for (const double cell : cells) {
    EXPECT_EQ(std::ldexp(cell, kNoiseGridBits), std::round(std::ldexp(cell, kNoiseGridBits)));
    mean += (cell - 5) / static_cast<double>(cells.size());
    square += (cell - 5) * (cell - 5) / static_cast<double>(cells.size());
  }
  // Five standard errors; the seed is fixed.
  const double stddev = NoiseStddev(variance), root = std::sqrt(static_cast<double>(cells.size()));
  EXPECT_NEAR(mean, 0, 5 * stddev / root);
  EXPECT_NEAR(square, stddev * stddev, 5 * std::sqrt(2.0) * stddev * stddev / root);
}

}  // namespace
}  // namespace partita::stats::marginals::noise_test
