// The choice of a generator, by what noisy tables say.
#include "stats/marginals/generator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
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
  const NoisyTables noisy = {std::vector<double>(100000, 0), 3, 1000.0};
  crypto::Prg source = SeededSource(12);
  NoisyTables with_noise = noisy;
  blr::Variates variates(source);
  for (double& cell : with_noise.cells) cell = 3 * variates.Normal();
  const ThinnedTables thinned = Thin(with_noise, source);
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
  EXPECT_EQ(CandidateName(choice.chosen), "independent");
}

// Six pairs of ten levels would take a million products; a forest has them whole.
TEST(MarginalGenerator, NearCopiesTakeAForest) {
  const CodedTable table = NearCopies(6, 10, 20000, true);
  crypto::Prg source = SeededSource(14);
  const NoisyTables noisy = WithNoise(table, 20, source);
  const Choice choice = ChooseGenerator(table.set, noisy, source);
  EXPECT_NE(choice.chosen.kind, CandidateKind::kProducts) << CandidateName(choice.chosen);
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

// Estimates of squared distances are right on average over the noise.
TEST(MarginalGenerator, DistancesAreUnbiased) {
  const CodedTable table = NearCopies(2, 3, 500, true);
  const std::vector<double> counts = Count(table.set, table.train);
  crypto::Prg source = SeededSource(15);
  double excess = 0, variance = 0;
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
    }
  }
  // The fit to Y1 is a little further from the counts than the one that is handed out: by its noise,
  // at most 36 % of sigma^2 in each of 66 cells. Five standard errors; the seed is fixed.
  EXPECT_GT(excess, -5 * std::sqrt(variance));
  EXPECT_LT(excess, 5 * std::sqrt(variance) + kRepeats * 66 * 0.36 * 36);
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

TEST(MarginalForecast, GrowsWithTheNoise) {
  const TableSet set = NearCopies(3, 4, 1, true).set;
  double before = 0;
  for (const double stddev : {1.0, 20.0, 200.0}) {
    crypto::Prg source = SeededSource(20);
    double mean = 0;
    for (const std::vector<double>& variations : Forecast(set, 1000, stddev, source)) {
      EXPECT_EQ(variations.size(), set.tables.size());
      mean += MeanOf(set, variations).pairs / 3;
    }
    EXPECT_GT(mean, 1.5 * before);
    before = mean;
  }
}

}  // namespace
}  // namespace partita::stats::marginals::generator_test
