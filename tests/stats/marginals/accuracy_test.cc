// How close synthetic rows come to the rows, on the tables of the tests.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "stats/marginals/forecast.h"
#include "stats/marginals/generator.h"
#include "stats/marginals/noise.h"
#include "stats/mixture/dpvi.h"
#include "stats/mixture/predictive.h"
#include "stats/mixture/utility.h"
#include "tests/stats/marginals/central_aim.h"
#include "tests/stats/marginals/central_mst.h"
#include "tests/stats/marginals/coded_table.h"

namespace partita::stats::marginals::accuracy_test {
namespace {

mixture::Layout LayoutOf(const CodedTable& table) {
  std::vector<mixture::Feature> features;
  for (const Attribute& attribute : table.set.attributes) {
    features.push_back({attribute.name, mixture::Family::kCategorical, attribute.levels});
  }
  return mixture::MakeLayout(features);
}

mixture::Values ValuesOf(const Codes& columns) {
  mixture::Values values;
  for (const std::vector<uint16_t>& column : columns) {
    values.emplace_back(column.begin(), column.end());
  }
  return values;
}

double Auc(const CodedTable& table, const Codes& codes) {
  return mixture::TrainAndTest(LayoutOf(table), ValuesOf(codes), ValuesOf(table.test),
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

// Method `mixture` in the clear, as its example has it (ten components, 30 passes in quarters of the
// rows, rate 0.05), with noise that holds against two holders who know the batches: of the 30 sums
// that a row is in, each of which a replaced row changes by 2 at most, and twice a share's variance.
Codes FromMixture(const CodedTable& table, double mu, crypto::RandomSource& source) {
  constexpr uint32_t kComponents = 10, kEpochs = 30, kParts = 4;
  const mixture::Layout layout = LayoutOf(table);
  const mixture::Rows rows = mixture::MakeRows(layout, ValuesOf(table.train));
  const auto num_rows = static_cast<uint32_t>(table.rows());
  mixture::VariationalOptions options;
  options.steps = kEpochs * kParts;
  options.learning_rate = 0.05;
  blr::Variates variates(source);
  mixture::VariationalState state = StartState(layout, kComponents, options, variates);
  mixture::Batches batches(mixture::BatchMode::kDisjoint, num_rows,
                           (num_rows + kParts - 1) / kParts, 0, source);
  const double noise = 2 * std::sqrt(2.0 * kEpochs) / mu;
  const auto sum_at = [&](const Eigen::ArrayXXd& theta, std::span<const uint32_t> batch) {
    Eigen::ArrayXXd sum = mixture::ClippedGradientSum(layout, rows, batch, theta, 1);
    for (Eigen::Index i = 0; i < sum.size(); ++i) sum.data()[i] += noise * variates.Normal();
    return sum;
  };
  mixture::RunDpvi(layout, options, num_rows, sum_at, batches, variates, {}, state);
  Codes codes;
  for (const std::vector<double>& column :
       mixture::DrawRows(layout, DrawTheta(state, variates), table.rows(), variates)) {
    codes.emplace_back(column.begin(), column.end());
  }
  return codes;
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

// Of pairs, before the rows are read, as a plan says it.
double LargestForecast(const CodedTable& table, double noise_stddev) {
  crypto::Prg source(crypto::Key(std::array<uint8_t, 32>{1}));
  double largest = 0;
  for (const std::vector<double>& variations :
       Forecast(table.set, table.rows(), noise_stddev, {}, {}, {}, source))
    largest = std::max(largest, MeanOf(table.set, variations).pairs);
  return largest;
}

// Two-way distances of docs/decisions/0295 and 0432 at epsilon 0.5, 1 and 3.
using Measured = std::array<double, 3>;

// Rows from all pairs are at most `of_central` times as far from the truth as those of the better of
// MST and AIM; with noise against two holders at most `of_mixture` times as far as those of `mixture`,
// by epsilon.
struct Bounds {
  Measured measured{};
  double of_central = 1;
  std::array<double, 3> of_mixture = {0.5, 0.5, 0.5};
};

// At each epsilon, in the mean over three seeds; and at most 1.1 times as far as measured, and as far
// as forecast. The seeds are fixed.
void Compare(const std::string& name, const CodedTable& table, const Bounds& bounds) {
  fmt::print("{}: {} rows x {} columns, {} cells; real AUC {:.3f}\n", name, table.rows(),
             table.train.size(), table.set.num_cells, Auc(table, table.train));
  for (size_t setting = 0; setting < 3; ++setting) {
    const double epsilon = std::array{0.5, 1.0, 3.0}[setting];
    std::vector<Figures> central, aim, ours, holders, mixed;
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
      const double mu =
          std::sqrt(2.0 * static_cast<double>(table.set.tables.size())) / NoiseStddev(variance);
      mixed.push_back(Measure(table, FromMixture(table, mu, source)));
    }
    const auto text = [](const std::vector<Figures>& figures) {
      const Figures mean = MeanOfSeeds(figures);
      return fmt::format("{:.4f} {:.4f} {:.3f}", mean.distance.one_way, mean.distance.pairs,
                         mean.auc);
    };
    fmt::print(
        "  epsilon {}, sigma {:.1f}: MST {} | AIM {} | all pairs {} | two holders {} | mixture {} "
        "| "
        "{}\n",
        epsilon, NoiseStddev(variance), text(central), text(aim), text(ours), text(holders),
        text(mixed), chosen);
    EXPECT_LT(MeanOfSeeds(ours).distance.pairs,
              bounds.of_central *
                  std::min(MeanOfSeeds(central).distance.pairs, MeanOfSeeds(aim).distance.pairs));
    EXPECT_LT(MeanOfSeeds(holders).distance.pairs,
              bounds.of_mixture[setting] * MeanOfSeeds(mixed).distance.pairs);
    EXPECT_LT(MeanOfSeeds(ours).distance.pairs, 1.1 * bounds.measured[setting]);
    EXPECT_LE(MeanOfSeeds(ours).distance.pairs, LargestForecast(table, NoiseStddev(variance)));
    EXPECT_LE(MeanOfSeeds(holders).distance.pairs,
              LargestForecast(table, NoiseStddev(TwoHoldersNoise(table.set, epsilon))));
  }
}

TEST(MarginalsAccuracy, Abalone) {
  CodedTable table = ReadCoded("tables/abalone.csv");
  table.target = 0;  // infants, of three
  table.positive = 1;
  Compare("abalone", table, {{0.131, 0.077, 0.038}});
}

TEST(MarginalsAccuracy, WhiteWine) {
  CodedTable table = ReadCoded("tables/winequality_white.csv");
  table.positive = 4;
  Compare("white wine", table, {{0.089, 0.063, 0.038}});
}

// 398 rows of 31 columns: at epsilon 0.5 and 1 there is little but noise, and forecasts refuse it.
TEST(MarginalsAccuracy, Breast) {
  Compare("breast", ReadCoded("tables/breast_cancer_wdbc.csv"),
          {{0.679, 0.436, 0.252}, 1, {1, 0.75, 0.5}});
}

TEST(MarginalsAccuracy, RedWine) {
  CodedTable table = ReadCoded("tables/winequality_red.csv");
  table.positive = 4;
  Compare("red wine", table, {{0.198, 0.157, 0.101}});
}

// Missing cells are levels; the first column numbers the rows.
TEST(MarginalsAccuracy, Twins) {
  CodedTable table = ReadCoded("tables/openmx_twins.csv", "", 1);
  table.target = 11;  // the cohort, which the twins' ages tell
  table.positive = 1;
  Compare("twins", table, {{0.203, 0.130, 0.070}, 1.05});
}

TEST(MarginalsAccuracy, Adult) {
  const CodedTable table = ReadCoded("tables/adult_train.csv.gz", "tables/adult_test.csv.gz");
  const auto start = std::chrono::steady_clock::now();
  const std::vector<double> counts = Count(table.set, table.train);
  fmt::print("counted in {:.3f} s\n",
             std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  Compare("Adult", table, {{0.028, 0.020, 0.012}});
}

}  // namespace
}  // namespace partita::stats::marginals::accuracy_test
