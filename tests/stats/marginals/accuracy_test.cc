// How close synthetic rows come to the rows, on the tables of the tests.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>

#include "stats/marginals/generator.h"
#include "stats/marginals/noise.h"
#include "stats/mixture/utility.h"
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

void Compare(const std::string& name, const CodedTable& table, int seeds) {
  fmt::print("{}: {} rows x {} columns, {} tables, {} cells; real AUC {:.3f}\n", name, table.rows(),
             table.train.size(), table.set.tables.size(), table.set.num_cells,
             Auc(table, table.train));
  for (const double epsilon : {0.5, 1.0, 3.0}) {
    for (int seed = 1; seed <= seeds; ++seed) {
      crypto::Prg source = SeededSource(static_cast<uint8_t>(seed));
      const TreeModel mst = CentralMst(table.set, table.train, epsilon, 1e-5, source);
      const Figures central =
          Measure(table, DrawRows(table.set, mst, table.rows(), source));
      const privacy::GridVariance variance =
          CuratorNoise(table.set, privacy::Adjacency::kReplace, 1, privacy::Epsilon(epsilon),
                       privacy::Delta(1e-5));
      NoisyTables noisy = {Count(table.set, table.train), NoiseStddev(variance),
                           static_cast<double>(table.rows())};
      AddNoise(variance, source, noisy.cells);
      const auto start = std::chrono::steady_clock::now();
      const Choice choice = ChooseGenerator(table.set, noisy, source);
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      const Figures ours =
          Measure(table, DrawRows(table.set, choice.generator, table.rows(), source));
      std::string scores;
      for (const double score : choice.scores) scores += fmt::format(" {:.4f}", score);
      fmt::print("  epsilon {} seed {}: sigma {:.1f}; MST {:.4f}/{:.4f} AUC {:.3f}; all pairs "
                 "{:.4f}/{:.4f} AUC {:.3f} by {} in {:.1f} s;{}\n",
                 epsilon, seed, noisy.noise_stddev, central.distance.one_way, central.distance.pairs,
                 central.auc, ours.distance.one_way, ours.distance.pairs, ours.auc,
                 CandidateName(choice.chosen), seconds, scores);
    }
  }
}

TEST(MarginalsAccuracy, Abalone) { Compare("abalone", ReadCoded("tables/abalone.csv", 0.7), 2); }
TEST(MarginalsAccuracy, Wine) {
  CodedTable table = ReadCoded("tables/winequality_white.csv", 0.7);
  table.positive = 4;
  Compare("white wine", table, 2);
}
TEST(MarginalsAccuracy, Breast) {
  Compare("breast", ReadCoded("tables/breast_cancer_wdbc.csv", 0.7), 2);
}
TEST(MarginalsAccuracy, Adult) {
  CodedTable table = ReadCoded("tables/adult_train.csv.gz", 1);
  // Rows to score on: a tenth of the training rows would do; here the last 10000 of them.
  for (const std::vector<uint16_t>& column : table.train) {
    table.test[&column - table.train.data()].assign(column.end() - 10000, column.end());
  }
  Compare("Adult", table, 1);
}

}  // namespace
}  // namespace partita::stats::marginals::accuracy_test
