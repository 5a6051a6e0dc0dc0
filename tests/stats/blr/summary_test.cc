// The summary and predictions, in the units of the columns.
#include "stats/blr/summary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/blr/variates.h"
#include "tests/stats/blr/random.h"

namespace partita::stats::blr::summary_test {
namespace {

TEST(SummaryTest, SpeaksInTheUnitsOfTheColumns) {
  TestRandom source(8);
  Variates variates(source);
  Design design;
  design.features = {{"dose", 50, 100}, {"age", 40, 50}};
  design.target = {"pressure", 60, 130};
  design.intercept = true;
  constexpr size_t kRows = 20000;
  std::vector<double> rows;
  for (size_t r = 0; r < kRows; ++r) {
    const double dose = 104 + 14 * variates.Normal(), age = 47 + 11 * variates.Normal();
    rows.insert(rows.end(), {dose, age, 90 + 0.2 * dose + 0.4 * age + 9 * variates.Normal()});
  }
  const NoiseDesign noise = DesignStatisticsNoise(
      design, {NoiseKind::kGaussian, 3, 1e-6, {static_cast<uint32_t>(kRows), 1}});
  std::vector<Int128> sums = SumEntries(design, rows);
  const Statistics exact = FromEntries(design, sums, kRows);
  NoiseSampler(noise).AddTo(sums, source);
  const NoiseAwarePosterior aware =
      FitNoiseAware(FromEntries(design, sums, kRows), noise.variance, true, {}, {}, source);
  const RegressionSummary summary = Summarise(design, noise, kRows, aware, 0.95);
  ASSERT_EQ(summary.coefficients.size(), 3u);
  const double truth[] = {90, 0.2, 0.4};
  const RegressionSummary plain =
      Summarise(design, noise, kRows,
                FitPlain(exact, {Eigen::VectorXd::Zero(3), Eigen::VectorXd::Constant(3, 100), {}},
                         Repair::kNone),
                0.95);
  for (size_t k = 0; k < 3; ++k) {
    const CoefficientRow& row = summary.coefficients[k];
    // Six posterior deviations.
    EXPECT_NEAR(row.mean, truth[k], 6 * row.stddev) << row.name;
    EXPECT_NEAR(plain.coefficients[k].mean, truth[k], 6 * plain.coefficients[k].stddev);
    EXPECT_GT(row.stddev, plain.coefficients[k].stddev) << row.name;
    EXPECT_LT(row.interval.lower, row.mean);
    EXPECT_GT(row.interval.upper, row.mean);
  }
  EXPECT_NEAR(plain.residual_stddev, 9, 0.3);
  const std::vector<double> point = {120, 60};
  const Prediction prediction = Predict(design, aware, point, 0.95);
  EXPECT_NEAR(prediction.mean, 90 + 24 + 24, 5);
  EXPECT_GT(prediction.interval.upper - prediction.interval.lower, 2 * 1.9 * 9 * 0.8);
}

}  // namespace
}  // namespace partita::stats::blr::summary_test
