// The choice of a generator, by what noisy tables say.
#include "stats/marginals/generator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "stats/marginals/blend.h"
#include "stats/marginals/forecast.h"
#include "tests/stats/marginals/coded_table.h"

namespace partita::stats::marginals::generator_test {
namespace {

// `copies` pairs of columns, the second being the first but for one row in ten.
CodedTable NearCopies(size_t copies, uint32_t levels, size_t rows, bool copied) {
  crypto::Prg source = SeededSource(11);
  blr::Variates variates(source);
  CodedTable table;
  std::vector<Attribute> attributes;
  for (size_t pair = 0; pair < copies; ++pair) {
    std::vector<uint16_t> first, second;
    for (size_t n = 0; n < rows; ++n) {
      first.push_back(static_cast<uint16_t>(variates.Below(levels)));
      const bool fresh = !copied || variates.Below(10) == 0;
      second.push_back(fresh ? static_cast<uint16_t>(variates.Below(levels)) : first.back());
    }
    attributes.push_back({"first " + std::to_string(pair), levels});
    attributes.push_back({"second " + std::to_string(pair), levels});
    table.train.push_back(first);
    table.train.push_back(second);
  }
  table.set = AllTables(attributes);
  return table;
}

NoisyTables WithNoise(const CodedTable& table, double stddev, crypto::RandomSource& source) {
  blr::Variates variates(source);
  NoisyTables noisy = {Count(table.set, table.train), stddev, static_cast<double>(table.rows())};
  for (double& cell : noisy.cells) cell += stddev * variates.Normal();
  return noisy;
}

TEST(MarginalGenerator, ThinnedHalvesAreIndependent) {
  // One table of 100000 cells.
  const TableSet set = {{{"a", 100000}}, {{0, 0, 100000, 1, 0}}, 100000};
  NoisyTables noisy = {std::vector<double>(100000, 0), 3, 1000.0};
  crypto::Prg source = SeededSource(12);
  blr::Variates variates(source);
  for (double& cell : noisy.cells) cell = 3 * variates.Normal();
  const ThinnedTables thinned = Thin(set, noisy, source);
  double first = 0, second = 0, both = 0;
  for (size_t i = 0; i < noisy.cells.size(); ++i) {
    const double x = thinned.fit.cells[i] / thinned.fit.noise_stddev;
    const double y = thinned.score.cells[i] / thinned.score.noise_stddev;
    first += x * x / 1e5;
    second += y * y / 1e5;
    both += x * y / 1e5;
  }
  // Five standard errors; the seed is fixed.
  EXPECT_NEAR(first, 1, 5 * std::sqrt(2e-5));
  EXPECT_NEAR(second, 1, 5 * std::sqrt(2e-5));
  EXPECT_NEAR(both, 0, 5 * std::sqrt(1e-5));
}

TEST(MarginalGenerator, NothingToLearnIsIndependent) {
  const CodedTable table = NearCopies(4, 4, 2000, false);
  crypto::Prg source = SeededSource(13);
  const Choice choice = ChooseGenerator(table.set, WithNoise(table, 40, source), source);
  EXPECT_TRUE(choice.IsIndependent()) << ChoiceName(choice);
  EXPECT_EQ(ChoiceName(choice), "independent");
}

// A forest without an edge is independent columns as well, and is taken about as often.
TEST(MarginalGenerator, WhatRelatesNoColumnsIsSaidToBeIndependent) {
  const CodedTable table = NearCopies(3, 8, 2000, false);
  bool by_another_name = false;
  for (uint8_t seed = 40; seed < 46; ++seed) {
    crypto::Prg source = SeededSource(seed);
    const Choice choice = ChooseGenerator(table.set, WithNoise(table, 40, source), source);
    const std::vector<double> tables = TablesOf(table.set, choice.generator);
    double most = 0;
    for (const CountTable& pair : table.set.tables) {
      if (pair.one_way()) continue;
      const std::span<const double> first = table.set.tables[pair.first].Of(std::span(tables)),
                                    second = table.set.tables[pair.second].Of(std::span(tables));
      for (size_t i = 0; i < pair.cells(); ++i) {
        const double product = first[i / pair.columns] * second[i % pair.columns];
        most = std::max(most, std::abs(tables[pair.offset + i] - product));
      }
    }
    EXPECT_EQ(choice.IsIndependent(), most < 1e-4) << ChoiceName(choice) << ' ' << most;
    by_another_name |= choice.IsIndependent() && ChoiceName(choice) != "independent";
  }
  EXPECT_TRUE(by_another_name);
}

// Six pairs of ten levels would take a million products; a forest has them whole.
TEST(MarginalGenerator, NearCopiesTakeAForest) {
  const CodedTable table = NearCopies(6, 10, 20000, true);
  crypto::Prg source = SeededSource(14);
  const NoisyTables noisy = WithNoise(table, 20, source);
  const Choice choice = ChooseGenerator(table.set, noisy, source);
  // Most rows are from the last two, the graphical models.
  EXPECT_GT(choice.shares[7] + choice.shares[8], 0.5) << ChoiceName(choice);
  EXPECT_EQ(choice.scores.size(), AllCandidates().size());
  EXPECT_EQ(choice.rows, 20000);
  const std::vector<double> truth = SharesOfRows(table.set, table.train);
  const double ours =
      MeanOf(table.set, TotalVariations(table.set, truth, TablesOf(table.set, choice.generator)))
          .pairs;
  const double products =
      MeanOf(table.set,
             TotalVariations(
                 table.set, truth,
                 TablesOf(table.set,
                          FitGenerator(table.set, noisy, {CandidateKind::kProducts, 100}, source))))
          .pairs;
  EXPECT_LT(ours, 0.6 * products);
}

// A column that is the parity of two others is independent of each: pairs say nothing, the table of all
// three says it all, and the generator has it. Where it is noise alone the tree does not take it.
TEST(MarginalGenerator, NamedTriplesAreLearned) {
  CodedTable table = NearCopies(2, 2, 4000, false);
  for (size_t n = 0; n < table.rows(); ++n)
    table.train[3][n] = table.train[0][n] ^ table.train[2][n];
  const std::vector<Triple> triples = {{0, 2, 3}, {0, 1, 2}};
  const auto miss = [&](const TableSet& set, double stddev, std::string& name) {
    CodedTable of = table;
    of.set = set;
    crypto::Prg source = SeededSource(41);
    const Choice choice = ChooseGenerator(set, WithNoise(of, stddev, source), source);
    name = ChoiceName(choice);
    const TableSet named = AllTables(table.set.attributes, triples);
    const Codes rows = DrawRows(set, choice.generator, table.rows(), source);
    return TotalVariations(named, SharesOfRows(named, table.train),
                           SharesOfRows(named, rows))[named.tables.size() - 2];
  };
  std::string name;
  EXPECT_GT(miss(table.set, 20, name), 0.4);
  const TableSet named = AllTables(table.set.attributes, triples);
  EXPECT_LT(miss(named, 20, name), 0.05);
  EXPECT_EQ(name.substr(0, 4), "tree");
  EXPECT_GT(miss(named, 4000, name), 0.4);
}

// Levels that exclude each other have no rows in triples either.
TEST(MarginalGenerator, ImpossiblePairsHoldInTriples) {
  const std::vector<Triple> triples = {{0, 1, 2}};
  const TableSet set = AllTables({{"a", 2}, {"b", 3}, {"c", 2}}, triples);
  const std::vector<size_t> of = CellsOf(set, {0, 1, 2, 0});
  ASSERT_EQ(of.size(), 4u);
  EXPECT_EQ(of[0], set.Pair(0, 2).offset + 2);
  for (size_t level = 0; level < 3; ++level)
    EXPECT_EQ(of[1 + level], set.Triples()[0].offset + 6 + 2 * level);
}

// Estimates of squared distances are right on average over the noise.
TEST(MarginalGenerator, DistancesAreUnbiased) {
  const CodedTable table = NearCopies(2, 3, 500, true);
  const std::vector<double> counts = Count(table.set, table.train);
  crypto::Prg source = SeededSource(15);
  double excess = 0, variance = 0;
  int contained = 0, intervals = 0;
  constexpr int kRepeats = 60;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const NoisyTables noisy = WithNoise(table, 6, source);
    const Choice choice = ChooseGenerator(table.set, noisy, source);
    const std::vector<double> shares = TablesOf(table.set, choice.generator);
    for (size_t t = 0; t < table.set.tables.size(); ++t) {
      const CountTable& one = table.set.tables[t];
      double squared = 0;
      for (size_t i = one.offset; i < one.offset + one.cells(); ++i) {
        squared += std::pow(counts[i] - 500 * shares[i], 2);
      }
      excess += choice.distances[t].estimate - squared;
      variance += std::pow(choice.distances[t].standard_error, 2);
      ++intervals;
      contained += std::abs(choice.distances[t].estimate - squared) <
                           1.96 * choice.distances[t].standard_error
                       ? 1
                       : 0;
    }
  }
  // The fit to Y1 is a little further from the counts than the one that is handed out: by its noise,
  // at most 36 % of sigma^2 in each of 66 cells. Five standard errors; the seed is fixed.
  EXPECT_GT(excess, -5 * std::sqrt(variance));
  EXPECT_LT(excess, 5 * std::sqrt(variance) + kRepeats * 66 * 0.36 * 36);
  // The report's intervals at 95 %, by that noise a little to one side.
  EXPECT_GT(contained, 0.9 * intervals);
}

TEST(MarginalGenerator, SameSeedSameRows) {
  const CodedTable table = NearCopies(3, 3, 300, true);
  std::vector<Codes> drawn;
  for (int repeat = 0; repeat < 2; ++repeat) {
    crypto::Prg source = SeededSource(16);
    const Choice choice = ChooseGenerator(table.set, WithNoise(table, 5, source), source);
    drawn.push_back(DrawRows(table.set, choice.generator, 100, source));
  }
  EXPECT_EQ(drawn[0], drawn[1]);
}

TEST(MarginalGenerator, FewRowsAndMuchNoise) {
  for (const size_t rows : {0, 1, 50}) {
    CodedTable table = NearCopies(2, 3, rows, true);
    crypto::Prg source = SeededSource(17);
    NoisyTables noisy = WithNoise(table, 1000, source);
    for (const bool is_public : {true, false}) {
      noisy.rows = is_public ? std::optional<double>(static_cast<double>(rows)) : std::nullopt;
      const Choice choice = ChooseGenerator(table.set, noisy, source);
      for (const double share : TablesOf(table.set, choice.generator)) {
        EXPECT_TRUE(share >= 0 && share <= 1 + 1e-6) << share;
      }
      EXPECT_EQ(DrawRows(table.set, choice.generator, 30, source)[3].size(), 30);
    }
  }
  CodedTable table = NearCopies(2, 3, 50, true);
  crypto::Prg source = SeededSource(18);
  NoisyTables noisy = WithNoise(table, 1, source);
  noisy.noise_stddev = 0;
  EXPECT_THROW(ChooseGenerator(table.set, noisy, source), Error);
}

TEST(MarginalGenerator, OneAttribute) {
  const TableSet set = AllTables({{"a", 3}});
  crypto::Prg source = SeededSource(19);
  const Choice choice = ChooseGenerator(set, {{10, 20, 70}, 0.5, 100.0}, source);
  const std::vector<double> shares = TablesOf(set, choice.generator);
  EXPECT_NEAR(shares[2], 0.7, 0.02);
  EXPECT_EQ(DrawRows(set, choice.generator, 10, source)[0].size(), 10);
}

// Two candidates with errors of their own: half of each is nearer to the truth than one alone, and
// the weights find it. A candidate
// that is only noise gets nothing.
TEST(MarginalGenerator, BlendsByUnseenNoise) {
  const TableSet set = AllTables({{"a", 30}, {"b", 30}});
  crypto::Prg source = SeededSource(23);
  blr::Variates variates(source);
  std::vector<double> truth(set.num_cells), first, second, noise;
  NoisyTables unseen;
  unseen.noise_stddev = 2;
  for (double& share : truth) share = variates.Exponential() / 1000;
  for (const double share : truth) {
    first.push_back(share + 0.001 * variates.Normal());
    second.push_back(share + 0.001 * variates.Normal());
    noise.push_back(0.01 * variates.Normal());
    unseen.cells.push_back(1000 * share + 2 * variates.Normal());
  }
  const std::vector<std::vector<double>> fits = {first, noise, second};
  const std::vector<double> weights = BlendWeights(set, unseen, 1000, fits);
  EXPECT_NEAR(weights[0], 0.5, 0.2);
  EXPECT_EQ(weights[1], 0);
  EXPECT_NEAR(weights[0] + weights[2], 1, 1e-12);
  const std::vector<std::vector<double>> right = {truth, noise, first};
  EXPECT_EQ(BlendWeights(set, unseen, 1000, right), (std::vector<double>{1, 0, 0}));
}

TEST(MarginalGenerator, ABlendsRowsAndTablesAreThoseOfItsParts) {
  const CodedTable table = NearCopies(2, 3, 2000, true);
  crypto::Prg source = SeededSource(24);
  const NoisyTables noisy = WithNoise(table, 5, source);
  Blend blend;
  blend.shares = {0.25, 0.75};
  blend.parts = {FitGenerator(table.set, noisy, {CandidateKind::kProducts, 1}, source),
                 FitGenerator(table.set, noisy, {CandidateKind::kForest}, source)};
  const std::vector<double> shares = TablesOf(table.set, blend);
  const std::vector<double> first = TablesOf(table.set, blend.parts[0]),
                            second = TablesOf(table.set, blend.parts[1]);
  for (size_t i = 0; i < shares.size(); ++i)
    EXPECT_DOUBLE_EQ(shares[i], 0.25 * first[i] + 0.75 * second[i]);
  const Codes codes = DrawRows(table.set, blend, 40000, source);
  const std::vector<double> counts = Count(table.set, codes);
  // Six standard errors of a share of independent rows, more than those of rows drawn evenly.
  for (size_t i = 0; i < shares.size(); ++i)
    EXPECT_NEAR(counts[i] / 40000, shares[i], 6 * std::sqrt(shares[i] / 40000) + 1e-4);
}

// Columns that are nearly copies, of which some pairs of levels are declared impossible: no row has
// them, whichever generator was
// chosen, and columns keep their shares.
TEST(MarginalGenerator, NoRowIsImpossible) {
  const CodedTable table = NearCopies(2, 3, 4000, true);
  const std::vector<ImpossibleCell> impossible = {{0, 0, 1, 2}, {1, 1, 2, 0}, {0, 1, 3, 1}};
  for (const double stddev : {3.0, 300.0}) {
    crypto::Prg source = SeededSource(21);
    NoisyTables noisy = WithNoise(table, stddev, source);
    noisy.impossible = impossible;
    const Choice choice = ChooseGenerator(table.set, noisy, source);
    Codes codes = DrawRows(table.set, choice.generator, 3000, source);
    const std::vector<double> before = Count(table.set, codes);
    MendImpossible(table.set, impossible, codes, source);
    const std::vector<double> after = Count(table.set, codes);
    for (const ImpossibleCell& cell : impossible) EXPECT_EQ(after[CellOf(table.set, cell)], 0);
    for (size_t a = 0; a < 4; ++a) {
      for (size_t v = 0; v < 3; ++v) EXPECT_EQ(after[3 * a + v], before[3 * a + v]) << stddev;
    }
  }
}

TEST(MarginalGenerator, ImpossibleRowsWithoutAPartnerAreReplaced) {
  crypto::Prg source = SeededSource(22);
  // Level 0 of "b" goes with level 0 of "a" only, and there are more such rows than it has room
  // for.
  Codes codes = {{1, 1, 1, 0}, {0, 0, 0, 0}};
  const std::vector<ImpossibleCell> impossible = {{0, 1, 1, 0}};
  const TableSet set = AllTables({{"a", 2}, {"b", 2}});
  MendImpossible(set, impossible, codes, source);
  EXPECT_EQ(codes, (Codes{{0, 0, 0, 0}, {0, 0, 0, 0}}));
  Codes alone = {{1, 1}, {0, 0}};  // no row that was drawn is possible
  MendImpossible(set, impossible, alone, source);
  EXPECT_EQ(alone, (Codes{{1, 1}, {1, 1}}));
  Codes none = {{}, {}};
  MendImpossible(set, impossible, none, source);
}

// A row exists exactly where a search of all rows finds one; and mending always ends in possible
// rows.
TEST(MarginalGenerator, PossibleRowsAreFoundWhereThereAreSome) {
  crypto::Prg source = SeededSource(23);
  blr::Variates variates(source);
  const TableSet set = AllTables({{"a", 2}, {"b", 2}, {"c", 3}});
  size_t without = 0;
  for (int repeat = 0; repeat < 400; ++repeat) {
    std::vector<ImpossibleCell> impossible;
    for (const CountTable& table : set.tables) {
      for (uint32_t i = 0; !table.one_way() && i < table.rows; ++i) {
        for (uint32_t j = 0; j < table.columns; ++j) {
          if (variates.Uniform() < 0.5) impossible.push_back({table.first, i, table.second, j});
        }
      }
    }
    Codes rows(3);
    for (uint16_t row = 0; row < 12; ++row) {
      rows[0].push_back(row % 2);
      rows[1].push_back(row / 2 % 2);
      rows[2].push_back(row / 4);
    }
    const auto breaks = [&](const Codes& codes, size_t n) {
      return std::ranges::any_of(impossible, [&](const ImpossibleCell& cell) {
        return codes[cell.first][n] == cell.first_level &&
               codes[cell.second][n] == cell.second_level;
      });
    };
    bool exists = false;
    for (size_t n = 0; n < 12; ++n) exists |= !breaks(rows, n);
    EXPECT_EQ(PossibleRow(set, impossible, {1, 0, 2}).has_value(), exists);
    if (!exists) {
      ++without;
      EXPECT_THROW(CheckImpossible(set, impossible), Error);
      continue;
    }
    for (size_t n = 0; n < 12; ++n) {
      Codes one = {{rows[0][n]}, {rows[1][n]}, {rows[2][n]}};
      MendImpossible(set, impossible, one, source);
      EXPECT_FALSE(breaks(one, 0));
    }
    MendImpossible(set, impossible, rows, source);
    for (size_t n = 0; n < 12; ++n) EXPECT_FALSE(breaks(rows, n));
  }
  EXPECT_GT(without, 20u);
  EXPECT_LT(without, 380u);
}

// Every level has a possible partner in every column, and yet no row is possible.
TEST(MarginalGenerator, PairsThatContradictEachOtherAreRefused) {
  const TableSet set = AllTables({{"a", 2}, {"b", 2}, {"c", 2}});
  const std::vector<ImpossibleCell> impossible = {{0, 0, 1, 1}, {0, 1, 1, 0}, {1, 0, 2, 1},
                                                  {1, 1, 2, 0}, {0, 0, 2, 0}, {0, 1, 2, 1}};
  EXPECT_THROW(CheckImpossible(set, impossible), Error);
  const std::vector<ImpossibleCell> fewer(impossible.begin(), impossible.end() - 1);
  CheckImpossible(set, fewer);
}

TEST(MarginalGenerator, RefusesPairsThatAreNone) {
  const TableSet set = AllTables({{"a", 2}, {"b", 3}});
  const auto is_refused = [&](std::vector<ImpossibleCell> impossible) {
    try {
      CheckImpossible(set, impossible);
    } catch (const Error& error) {
      return error.code() == ErrorCode::kBadInput;
    }
    return false;
  };
  EXPECT_FALSE(is_refused({{0, 0, 1, 0}, {0, 0, 1, 1}}));
  EXPECT_TRUE(is_refused({{0, 0, 1, 0}, {0, 0, 1, 0}}));
  EXPECT_TRUE(is_refused({{0, 0, 1, 0}, {0, 0, 1, 1}, {0, 0, 1, 2}}));
  EXPECT_TRUE(is_refused({{0, 0, 1, 1}, {0, 1, 1, 1}}));
  EXPECT_TRUE(is_refused({{1, 0, 0, 0}}));
  EXPECT_TRUE(is_refused({{0, 0, 1, 3}}));
  EXPECT_TRUE(is_refused({{0, 2, 1, 0}}));
  EXPECT_TRUE(is_refused({{0, 0, 2, 0}}));
  EXPECT_TRUE(is_refused(std::vector<ImpossibleCell>(1001)));
}

TEST(MarginalForecast, GrowsWithTheNoise) {
  const TableSet set = NearCopies(3, 4, 1, true).set;
  double before = 0;
  for (const double stddev : {1.0, 20.0, 200.0}) {
    crypto::Prg source = SeededSource(20);
    double mean = 0;
    for (const std::vector<double>& variations : Forecast(set, 1000, stddev, {}, {}, {}, source)) {
      EXPECT_EQ(variations.size(), set.tables.size());
      mean += MeanOf(set, variations).pairs / kForecasts;
    }
    EXPECT_GT(mean, 1.5 * before);
    before = mean;
  }
}

// A declared number of rows is anything up to 1e10: no more are made up than show what noise does.
TEST(MarginalForecast, MakesUpNoMoreRowsThanItNeeds) {
  const TableSet set = AllTables({{"a", 3}, {"b", 4}});
  const auto forecast = [&](size_t rows, double stddev) {
    crypto::Prg source = SeededSource(51);
    return Forecast(set, rows, stddev, {}, {}, {}, source);
  };
  EXPECT_EQ(forecast(10'000'000'000, 5e6), forecast(kMostMadeUpRows, 100));
}

}  // namespace
}  // namespace partita::stats::marginals::generator_test
