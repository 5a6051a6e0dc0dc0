// R64: goodness of fit of the discrete Gaussian sampler, 1e6 samples per scale, false-alarm
// probability 1e-6 per check.
#include <gtest/gtest.h>

#include <boost/math/distributions/normal.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/gaussian_table.h"
#include "tests/paths.h"
#include "tests/privacy/sampling/goodness.h"
#include "tests/privacy/sampling/tape.h"

namespace partita::privacy::gaussian_stat_test {
namespace {

constexpr size_t kSamples = 1000000;

std::vector<double> Draw(const DiscreteGaussian& sampler, uint64_t seed) {
  Tape tape(seed);
  std::vector<Int128> values(kSamples);
  sampler.Sample(tape, values);
  return {values.begin(), values.end()};
}

class Mass {
 public:
  explicit Mass(double stddev) : stddev_(stddev), total_(0) {
    const auto last = static_cast<int64_t>(40 * stddev + 2);
    for (int64_t k = -last; k <= last; ++k) total_ += Weight(k);
  }
  double operator()(int64_t k) const { return Weight(k) / total_; }

 private:
  double Weight(int64_t k) const {
    const double x = static_cast<double>(k) / stddev_;
    return std::exp(-x * x / 2);
  }
  double stddev_;
  double total_;
};

Fit FitOfIntegers(const std::vector<double>& values, double stddev) {
  const Mass mass(stddev);
  const auto last = static_cast<int64_t>(40 * stddev + 2);
  const IntegerCells cells = MakeCells(mass, -last, last, kSamples);
  std::vector<uint64_t> counts(cells.probabilities.size(), 0);
  for (const double value : values) ++counts[cells.CellOf(value)];
  return ChiSquare(counts, cells.probabilities);
}

// 2000 cells of equal probability, and tails of 1e-5 each; for scales at which a grid unit is
// nothing.
Fit FitOfQuantiles(const std::vector<double>& values, double stddev) {
  const boost::math::normal normal;
  std::vector<double> levels = {1e-5};
  for (int i = 1; i < 2000; ++i) levels.push_back(i / 2000.0);
  levels.push_back(1 - 1e-5);
  std::vector<double> edges;
  std::vector<double> probabilities;
  double previous = 0;
  for (const double level : levels) {
    edges.push_back(boost::math::quantile(normal, level) * stddev);
    probabilities.push_back(level - previous);
    previous = level;
  }
  probabilities.push_back(1 - previous);
  std::vector<uint64_t> counts(probabilities.size(), 0);
  for (const double value : values) {
    ++counts[static_cast<size_t>(std::upper_bound(edges.begin(), edges.end(), value) -
                                 edges.begin())];
  }
  return ChiSquare(counts, probabilities);
}

double CountPositive(const std::vector<double>& values) {
  return static_cast<double>(
      std::count_if(values.begin(), values.end(), [](double value) { return value > 0; }));
}

double CountNegative(const std::vector<double>& values) {
  return static_cast<double>(
      std::count_if(values.begin(), values.end(), [](double value) { return value < 0; }));
}

// Five standard deviations: 6e-7 two-sided.
void ExpectSymmetricAndIndependent(const std::vector<double>& values) {
  const double positive = CountPositive(values);
  const double negative = CountNegative(values);
  EXPECT_LE(std::abs(positive - negative), 5 * std::sqrt(positive + negative) + 1);
  EXPECT_LE(std::abs(LagOneCorrelation(values)), 5 / std::sqrt(kSamples));
}

TEST(GaussianStatTest, SmallScales) {
  uint64_t seed = 100;
  for (const double stddev : {0.3, 0.5, 1.0, 1.5, 10.0, 40.0, 100.0, 1000.0}) {
    SCOPED_TRACE(stddev);
    const std::vector<double> values = Draw(DiscreteGaussian(VarianceOfStddev(stddev)), seed++);
    const Fit fit = FitOfIntegers(values, stddev);
    EXPECT_FALSE(fit.rejected()) << fit.statistic << " against " << fit.critical;
    ExpectSymmetricAndIndependent(values);
  }
  // Nothing but 0 occurs in a million: 1 - P(0) = 4e-22.
  const std::vector<double> tenth = Draw(DiscreteGaussian(VarianceOfStddev(0.1)), seed);
  EXPECT_EQ(tenth, std::vector<double>(kSamples, 0.0));
}

TEST(GaussianStatTest, LargeScales) {
  uint64_t seed = 200;
  for (const double stddev : {1e6 + 1.0 / 3, 0x1p20, 0x1p40, 0x1.8p52, 0x1p60, 0x1p80}) {
    SCOPED_TRACE(stddev);
    const std::vector<double> values = Draw(DiscreteGaussian(VarianceOfStddev(stddev)), seed++);
    const Fit fit = FitOfQuantiles(values, stddev);
    EXPECT_FALSE(fit.rejected()) << fit.statistic << " against " << fit.critical;
    ExpectSymmetricAndIndependent(values);
  }
}

// Every byte of the value that is below the shape is uniform.
TEST(GaussianStatTest, LowBytesAreUniform) {
  for (const int log2_stddev : {20, 50, 75}) {
    const DiscreteGaussian sampler(VarianceOfStddev(std::ldexp(1.0, log2_stddev)));
    Tape tape(300);
    std::vector<Int128> values(kSamples);
    sampler.Sample(tape, values);
    for (int shift = 0; shift + 16 <= log2_stddev; shift += 8) {
      std::vector<uint64_t> counts(256, 0);
      for (const Int128 value : values) ++counts[static_cast<uint8_t>(value >> shift)];
      EXPECT_FALSE(ChiSquare(counts, std::vector<double>(256, 1.0 / 256)).rejected())
          << log2_stddev << " " << shift;
    }
  }
}

// A tail that starts early is drawn from often: its law must be the same.
TEST(GaussianStatTest, TailBelongsToTheSameLaw) {
  for (const double stddev : {1.0, 40.0}) {
    for (const double start : {1.5, 2.5}) {
      const DiscreteGaussian sampler(BuildGaussianTable(VarianceOfStddev(stddev), start));
      const size_t count = 3000;
      Tape tape(400);
      std::vector<Int128> drawn(count);
      sampler.Sample(tape, drawn);
      const Mass mass(stddev);
      const auto last = static_cast<int64_t>(40 * stddev + 2);
      const IntegerCells cells = MakeCells(mass, -last, last, static_cast<double>(count));
      std::vector<uint64_t> counts(cells.probabilities.size(), 0);
      for (const Int128 value : drawn) ++counts[cells.CellOf(static_cast<double>(value))];
      EXPECT_FALSE(ChiSquare(counts, cells.probabilities).rejected()) << stddev << " " << start;
    }
  }
}

// The checks themselves: faulty variants of a right sample must be seen.
TEST(GaussianStatTest, FaultySamplersAreSeen) {
  const double stddev = 10;
  const std::vector<double> right = Draw(DiscreteGaussian(VarianceOfStddev(stddev)), 500);
  ASSERT_FALSE(FitOfIntegers(right, stddev).rejected());
  std::vector<double> never_35 = right;
  std::vector<double> clamped = right;
  std::vector<double> zero_twice = right;
  for (size_t i = 0; i < right.size(); ++i) {
    if (right[i] == 35) never_35[i] = 36;
    clamped[i] = std::clamp(right[i], -40.0, 40.0);
    if (right[i] == 1 && i % 8 == 0) zero_twice[i] = 0;
  }
  EXPECT_TRUE(FitOfIntegers(never_35, stddev).rejected());
  EXPECT_TRUE(FitOfIntegers(clamped, stddev).rejected());
  EXPECT_TRUE(FitOfIntegers(zero_twice, stddev).rejected());
  EXPECT_TRUE(FitOfIntegers(right, stddev * 1.01).rejected());
}

TEST(GaussianStatTest, MassesOfTheStoredReference) {
  const std::string path = FixturePath("references/dp_accounting.json");
  std::ifstream folder(FixturePath("references/dp_accounting.json"));
  ASSERT_TRUE(folder) << path;
  const auto json = nlohmann::json::parse(folder);
  for (const auto& row : json["tables"]["B_discrete_gaussian_pmf"]) {
    const Mass mass(row["inputs"]["sigma"].get<double>());
    for (const auto& [k, expected] : row["exact"]["pmf"].items()) {
      // The helper that the fits rest on.
      EXPECT_NEAR(mass(std::stoll(k)) / expected.get<double>(), 1, 1e-12);
    }
  }
}

}  // namespace
}  // namespace partita::privacy::gaussian_stat_test
