// 95 % intervals of private fits contain the truth as often as they say, where the noise doubles
// the standard errors; intervals that leave the noise out do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "methods/mle/moments/private_moments.h"
#include "tests/methods/mle/noise_in_the_clear.h"
#include "tests/methods/mle/plaintext_moments.h"

namespace partita::methods::mle::private_coverage_test {
namespace {

class TestRandom : public crypto::RandomSource {
 public:
  explicit TestRandom(uint64_t seed) : random_(seed) {}
  void Fill(std::span<uint8_t> out) override {
    for (uint8_t& byte : out) byte = static_cast<uint8_t>(random_() >> 32);
  }

 private:
  std::mt19937_64 random_;
};

constexpr size_t kRows = 2000;
constexpr int kRuns = 600;
constexpr uint32_t kParties = 3;
constexpr double kHalfWidth = 6;  // bounds of every column: [-6, 6]
constexpr double kSlopes[] = {0.5, -0.3};

MleAnalysis MakeAnalysis() {
  MleAnalysis analysis;
  analysis.options.function = "sem";
  stats::SemModelOptions options;
  analysis.table = stats::BuildParameterTable("y ~ x1 + x2", options);
  for (const std::string& name : analysis.table.observed) {
    data::DesignColumn column;
    column.schema.name = column.source = name;
    column.schema.lower = -kHalfWidth;
    column.schema.upper = kHalfWidth;
    analysis.variables.push_back(column);
  }
  return analysis;
}

// y, x1, x2 of one clipped row after the other, on the grid.
std::vector<Int128> DrawRows(std::mt19937_64& random, double norm) {
  std::normal_distribution<double> normal;
  std::vector<Int128> raw;
  for (size_t r = 0; r < kRows; ++r) {
    const double x1 = normal(random), x2 = 0.4 * x1 + normal(random);
    const double y = 0.2 + kSlopes[0] * x1 + kSlopes[1] * x2 + normal(random);
    for (double value : {y, x1, x2}) {
      const double z = std::clamp(value / kHalfWidth, -1.0, 1.0);
      raw.push_back(static_cast<Int128>(std::lround(std::ldexp(z, kPrivateFractionBits))));
    }
  }
  std::vector<Int128> clipped(raw.size());
  ClippedRows([&raw](size_t, size_t, Int128* out) { std::copy(raw.begin(), raw.end(), out); }, 3,
              norm)(0, kRows, clipped.data());
  return clipped;
}

TEST(PrivateCoverageTest, IntervalsContainTheTruthAsOftenAsTheySay) {
  const MleAnalysis analysis = MakeAnalysis();
  ASSERT_EQ(analysis.table.observed, (std::vector<std::string>{"y", "x1", "x2"}));
  MomentsTask task;
  task.num_variables = 3;
  task.fraction_bits = kPrivateFractionBits;
  task.max_rows = kRows;
  task.blocks = {{"all", kRows, {{0, {0, 1, 2}, {}}}}};
  PrivacyPromise promise;
  promise.epsilon = 3;
  promise.delta = 1e-6;
  promise.norm = 1.0;  // five standard deviations of a row's norm and more
  const MomentsRelease release{"moments", 0, {0}, {0, 1, 2}, AllPairs({0, 1, 2})};
  const PrivateMoments design = DesignPrivateMoments(promise, task, release, kParties);
  std::mt19937_64 random(3);
  TestRandom noise(4);
  SilentProgress progress;
  int covered[2] = {0, 0}, naive[2] = {0, 0};
  double inflation = 0;
  for (int run = 0; run < kRuns; ++run) {
    const IntegerMoments exact =
        PlaintextMoments(3, {DrawRows(random, promise.norm)}, {std::vector<int32_t>(kRows, 1)});
    std::vector<std::vector<Int128>> shares;
    for (uint32_t party = 0; party < kParties; ++party)
      shares.push_back(DrawNoiseShare(design, noise));
    const MleResult fit =
        FitPrivateMoments(analysis, design, {0, 1, 2},
                          testing::AddNoiseInTheClear(task, {exact}, design, shares), progress);
    const MleResult plain = FitMoments(analysis, {exact}, kPrivateFractionBits, progress);
    ASSERT_TRUE(fit.fit.converged);
    for (size_t k = 0; k < 2; ++k) {
      const stats::ParameterEstimate& e = fit.fit.estimates[k];
      covered[k] += e.ci_lower <= kSlopes[k] && kSlopes[k] <= e.ci_upper;
      naive[k] +=
          std::abs(e.estimate - kSlopes[k]) <= 1.959964 * plain.fit.estimates[k].standard_error;
      inflation += e.standard_error / plain.fit.estimates[k].standard_error / (2 * kRuns);
    }
  }
  EXPECT_GT(inflation, 1.5);
  // Binomial with 0.95: 4.9 standard deviations, 1e-6 on each side.
  const double band = 4.9 * std::sqrt(0.95 * 0.05 / kRuns);
  for (size_t k = 0; k < 2; ++k) {
    EXPECT_NEAR(covered[k] / static_cast<double>(kRuns), 0.95, band);
    EXPECT_LT(naive[k] / static_cast<double>(kRuns), 0.95 - band);
  }
}

}  // namespace
}  // namespace partita::methods::mle::private_coverage_test
