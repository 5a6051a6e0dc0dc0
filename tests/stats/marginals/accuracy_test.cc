// How close synthetic rows come to the rows, on the tables of the tests.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "stats/marginals/generator.h"
#include "stats/marginals/noise.h"
#include "stats/mixture/utility.h"
#include "tests/stats/marginals/central_aim.h"
#include "tests/stats/marginals/central_mst.h"
#include "tests/stats/marginals/coded_table.h"

namespace partita::stats::marginals::accuracy_test {
namespace {

double Auc(const CodedTable& table, const Codes& codes) {
  std::vector<mixture::Feature> features;
  for (const Attribute& attribute : table.set.attributes) {
    features.push_back({attribute.name, mixture::Family::kCategorical, attribute.levels});
  }
  const auto values = [](const Codes& columns) {
    mixture::Values result;
    for (const std::vector<uint16_t>& column : columns) {
      result.emplace_back(column.begin(), column.end());
    }
    return result;
  };
  return mixture::TrainAndTest(mixture::MakeLayout(features), values(codes), values(table.test),
                               table.set.attributes[table.target].name, table.positive)
      .auc;
}

struct Figures {
  MeanVariation distance;
  double auc = 0;
};

Figures Measure(const CodedTable& table, const Codes& synthetic) {
  const std::vector<double> variations = TotalVariations(
      table.set, SharesOfRows(table.set, table.train), SharesOfRows(table.set, synthetic));
  return {MeanOf(table.set, variations), Auc(table, synthetic)};
}

Figures MeanOfSeeds(const std::vector<Figures>& figures) {
  Figures mean;
  const double share = 1 / static_cast<double>(figures.size());
  for (const Figures& one : figures) {
    mean.distance.one_way += share * one.distance.one_way;
    mean.distance.pairs += share * one.distance.pairs;
    mean.auc += share * one.auc;
  }
  return mean;
}

// Rows from what opens with noise of this variance (grid).
Figures FromAllPairs(const CodedTable& table, const privacy::GridVariance& variance,
                     crypto::RandomSource& source, std::string& chosen) {
  NoisyTables noisy = {Count(table.set, table.train), NoiseStddev(variance),
                       static_cast<double>(table.rows())};
  AddNoise(variance, source, noisy.cells);
  const Choice choice = ChooseGenerator(table.set, noisy, source);
  chosen += ChoiceName(choice) + "; ";
  return Measure(table, DrawRows(table.set, choice.generator, table.rows(), source));
}

// What opens if each of two holders of half of the attributes adds noise that is enough alone.
privacy::GridVariance TwoHoldersNoise(const TableSet& set, double epsilon) {
  std::vector<size_t> holders(set.attributes.size());
  for (size_t a = 0; a < holders.size(); ++a) holders[a] = 2 * a / holders.size();
  const size_t foreign =
      std::max(TablesWithForeign(set, holders, 0), TablesWithForeign(set, holders, 1));
  return privacy::Multiply(
      privacy::CalibrateDiscreteGaussian(
          OnNoiseGrid(TablesSensitivity(foreign, privacy::Adjacency::kReplace, 1)), set.num_cells,
          privacy::Epsilon(epsilon), privacy::Delta(1e-5)),
      2);
}

// Two-way distances of docs/decisions/0295 at epsilon 0.5, 1 and 3.
using Measured = std::array<double, 3>;

// At each epsilon rows from all pairs are nearer to the truth than those of the better of MST and
// AIM, in the mean over three seeds, and at most 1.1 times as far as measured. The seeds are fixed.
void Compare(const std::string& name, const CodedTable& table, const Measured& measured) {
  fmt::print("{}: {} rows x {} columns, {} cells; real AUC {:.3f}\n", name, table.rows(),
             table.train.size(), table.set.num_cells, Auc(table, table.train));
  for (size_t setting = 0; setting < 3; ++setting) {
    const double epsilon = std::array{0.5, 1.0, 3.0}[setting];
    std::vector<Figures> central, aim, ours, holders;
    const privacy::GridVariance variance =
        CuratorNoise(table.set, privacy::Adjacency::kReplace, 1, privacy::Epsilon(epsilon),
                     privacy::Delta(1e-5));
    std::string chosen;
    for (uint8_t seed = 1; seed <= 3; ++seed) {
      crypto::Prg source = SeededSource(seed);
      const TreeModel mst = CentralMst(table.set, table.train, epsilon, 1e-5, source);
      central.push_back(Measure(table, DrawRows(table.set, mst, table.rows(), source)));
      const TreeModel adaptive = CentralAim(table.set, table.train, source).Fit(epsilon, 1e-5);
      aim.push_back(Measure(table, DrawRows(table.set, adaptive, table.rows(), source)));
      ours.push_back(FromAllPairs(table, variance, source, chosen));
      holders.push_back(FromAllPairs(table, TwoHoldersNoise(table.set, epsilon), source, chosen));
    }
    const auto text = [](const std::vector<Figures>& figures) {
      const Figures mean = MeanOfSeeds(figures);
      return fmt::format("{:.4f} {:.4f} {:.3f}", mean.distance.one_way, mean.distance.pairs,
                         mean.auc);
    };
    fmt::print("  epsilon {}, sigma {:.1f}: MST {} | AIM {} | all pairs {} | two holders {} | {}\n",
               epsilon, NoiseStddev(variance), text(central), text(aim), text(ours), text(holders),
               chosen);
    EXPECT_LT(MeanOfSeeds(ours).distance.pairs,
              std::min(MeanOfSeeds(central).distance.pairs, MeanOfSeeds(aim).distance.pairs));
    EXPECT_LT(MeanOfSeeds(ours).distance.pairs, 1.1 * measured[setting]);
  }
}

TEST(MarginalsAccuracy, Abalone) {
  CodedTable table = ReadCoded("tables/abalone.csv");
  table.target = 0;  // infants, of three
  table.positive = 1;
  Compare("abalone", table, {0.131, 0.077, 0.038});
}

TEST(MarginalsAccuracy, WhiteWine) {
  CodedTable table = ReadCoded("tables/winequality_white.csv");
  table.positive = 4;
  Compare("white wine", table, {0.089, 0.063, 0.038});
}

TEST(MarginalsAccuracy, Breast) {
  Compare("breast", ReadCoded("tables/breast_cancer_wdbc.csv"), {0.679, 0.436, 0.252});
}

TEST(MarginalsAccuracy, Adult) {
  const CodedTable table = ReadCoded("tables/adult_train.csv.gz", "tables/adult_test.csv.gz");
  const auto start = std::chrono::steady_clock::now();
  const std::vector<double> counts = Count(table.set, table.train);
  fmt::print("counted in {:.3f} s\n",
             std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  Compare("Adult", table, {0.028, 0.020, 0.012});
}

}  // namespace
}  // namespace partita::stats::marginals::accuracy_test
