// The experiment of Figure 2 against tests/references/blr.json, variant `clean` (another
// implementation, other noise).
#include "stats/blr/figure2.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/stats/blr/random.h"
#include "tests/stats/blr/reference_tables.h"

namespace partita::stats::blr::figure2_test {
namespace {

class Figure2Test : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream in(FixturePath("references/blr.json"));
    reference_ = nlohmann::json::parse(in)["results"]["clean"];
  }

  nlohmann::json reference_;
  SilentProgress progress_;
  TestRandom random_{7};
};

TEST_F(Figure2Test, WithoutPrivacyTheErrorsAreTheReferences) {
  for (const Case& c : kCases) {
    const Table table = ReadTable(c.name, c.file, c.train, c.test);
    const auto splits = NumpySplits(static_cast<size_t>(table.values.rows()), c.train + c.test, 25);
    Figure2Options options;
    options.epsilons = {1};
    options.noise_draws = 1;
    options.methods = {Figure2Method::kMean, Figure2Method::kNonPrivate};
    const auto cells = RunFigure2(table, splits, options, random_, progress_);
    ASSERT_EQ(cells.size(), 2u);
    // Rows are rounded to 2^-24 of the bounds.
    EXPECT_NEAR(MedianError(cells[0]), reference_[c.name]["predict_zero"]["median"], 1e-9);
    EXPECT_NEAR(MedianError(cells[1]), reference_[c.name]["NP"]["median"], 1e-6) << c.name;
  }
}

// Bootstrap intervals of 99.9 % over 6 splits and 5 draws; a sound implementation with the same
// noise lies at 1, ours has less noise.
TEST_F(Figure2Test, NoWorseThanTheSoundReference) {
  const Case& c = kCases[1];
  const Table table = ReadTable(c.name, c.file, c.train, c.test);
  const auto splits = NumpySplits(static_cast<size_t>(table.values.rows()), c.train + c.test, 6);
  Figure2Options options;
  options.noise_draws = 5;
  options.epsilons = {1, 10};
  options.methods = {Figure2Method::kMean, Figure2Method::kTrusted, Figure2Method::kDistributed,
                     Figure2Method::kProjectedTrusted, Figure2Method::kNoiseAware};
  const auto& by_epsilon = reference_[c.name]["by_epsilon"];
  for (const size_t e : {0, 4})
    options.thresholds.push_back({by_epsilon[e]["omega_x"], by_epsilon[e]["omega_y"], 0});
  const auto cells = RunFigure2(table, splits, options, random_, progress_);
  for (size_t e = 0; e < 2; ++e) {
    const auto& reference = by_epsilon[e == 0 ? 0 : 4];
    const Figure2Cell* cell = &cells[5 * e];
    const RatioInterval trusted = MedianRatio(
        cell[1], double{reference["TA_B7.5_analytic"]["median_500"]}, 0.999, 400, random_);
    EXPECT_LE(trusted.lower, 1.05) << e;
    const RatioInterval projected =
        MedianRatio(cell[3], double{reference["proj_TA_sound"]["median_500"]}, 0.999, 400, random_);
    EXPECT_LE(projected.lower, 1.05) << e;
    // 1/2999 more variance.
    EXPECT_NEAR(MedianRatio(cell[2], cell[1], 0.999, 400, random_).ratio, 1, 0.05);
    EXPECT_LE(MedianRatio(cell[4], cell[0], 0.999, 400, random_).ratio, 1.02) << e;
  }
}

TEST(Figure2PartsTest, Ratios) {
  Figure2Cell half, whole;
  for (int split = 0; split < 4; ++split) {
    half.errors.push_back({1.0 + split, 1.5 + split});
    whole.errors.push_back({2.0 + 2 * split, 3.0 + 2 * split});
  }
  TestRandom random(3);
  const RatioInterval ratio = MedianRatio(half, whole, 0.99, 200, random);
  // Paired: every replicate has the ratio 1/2.
  EXPECT_DOUBLE_EQ(ratio.ratio, 0.5);
  EXPECT_DOUBLE_EQ(ratio.lower, 0.5);
  EXPECT_DOUBLE_EQ(ratio.upper, 0.5);
}

TEST(Figure2PartsTest, Figure1bHasTheTheoremsFactors) {
  const auto points = Figure1b();
  for (const Figure1bPoint& point : points) {
    EXPECT_GT(point.variance_factor, 1);
    if (point.clients == 100 && point.colluding == 10) {
      EXPECT_DOUBLE_EQ(point.variance_factor, 100.0 / 89);
    }
  }
  EXPECT_EQ(points.size(), 99u + 94u + 89u);
}

}  // namespace
}  // namespace partita::stats::blr::figure2_test
