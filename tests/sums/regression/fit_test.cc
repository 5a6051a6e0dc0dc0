// From sums to estimates: least squares where there is hardly any noise, honest words where there
// is much.
#include "sums/regression/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "crypto/prg.h"
#include "sums/regression/bounds.h"
#include "tests/sums/regression/specs.h"

namespace partita::sums::regression::fit_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr size_t kRows = 4000;

// y = 40 + 3 x + 5 [b] - 8 [c] + N(0, 4^2), far from all bounds.
std::string Table(size_t rows) {
  std::mt19937 random(8);
  std::normal_distribution<double> normal;
  std::string text = "x,g,y\n";
  for (size_t r = 0; r < rows; ++r) {
    const double x = 2 + 1.2 * normal(random);
    const auto level = static_cast<size_t>(random() % 3);
    const double y = 40 + 3 * x + (level == 1 ? 5.0 : level == 2 ? -8.0 : 0.0) + 4 * normal(random);
    text += std::to_string(x) + "," + "abc"[level] + "," + std::to_string(y) + "\n";
  }
  return text;
}

ReleasedSum SumOf(const Spec& spec, const stats::blr::Design& design, size_t rows,
                  double noise_stddev) {
  const data::CsvContents csv = Read(spec, Table(rows));
  const Rows taken = TakeRows(spec, design, csv.table, csv.report);
  std::mt19937 random(9);
  std::normal_distribution<double> normal;
  ReleasedSum sum{std::vector<Int128>(ShapeOf(spec, design).dimension), rows, noise_stddev};
  for (size_t r = 0; r < rows; ++r) {
    const std::vector<double> vector =
        EncodeRow(spec, design, taken.row(r, design.features.size() + 1));
    for (size_t i = 0; i < vector.size(); ++i)
      sum.entries[i] += static_cast<Int128>(std::ldexp(vector[i], 48));
  }
  for (Int128& entry : sum.entries)
    entry += static_cast<Int128>(std::ldexp(noise_stddev * normal(random), 48));
  return sum;
}

Fit FitOf(const Spec& spec, double noise_stddev, size_t rows = kRows) {
  const stats::blr::Design design = DesignOf(spec);
  const ReleasedSum sum = SumOf(spec, design, rows, noise_stddev);
  crypto::Prg random(FitKey(sum));
  return FitSum(spec, design, sum, random);
}

TEST(FitTest, WithHardlyAnyNoiseIsLeastSquares) {
  for (const Estimator estimator : {Estimator::kNoiseAware, Estimator::kPlain}) {
    Spec spec = SmallSpec();
    spec.estimator = estimator;
    const Fit fit = FitOf(spec, 1e-4);
    const double expected[] = {40, 3, 5, -8};
    ASSERT_EQ(fit.result.coefficients.size(), 4U);
    EXPECT_EQ(fit.result.coefficients[0].name, "(Intercept)");
    EXPECT_EQ(fit.result.coefficients[3].name, "g.c");
    for (size_t k = 0; k < 4; ++k) {
      const CoefficientFacts& row = fit.result.coefficients[k];
      // Five standard errors (the data are fixed), of the size that 4000 rows have.
      EXPECT_NEAR(row.mean, expected[k], 5 * row.stddev);
      EXPECT_LT(row.stddev, 0.25);
      EXPECT_GT(row.stddev, 0.03);
      EXPECT_NEAR(row.noise_factor, 1, 0.05);
    }
    EXPECT_NEAR(fit.result.residual_stddev, 4, 0.3);
    EXPECT_EQ(fit.result.negative_eigenvalues, 0U);
    EXPECT_EQ(fit.result.rows, kRows);
  }
}

TEST(FitTest, PredictsNewRows) {
  const Spec spec = SmallSpec();
  const Fit fit = FitOf(spec, 1e-4);
  Spec without = spec;
  without.variables.columns.pop_back();
  const data::CsvContents csv = Read(without, "g,x\na,0\nc,2\n");
  const Rows rows = TakePredictorRows(spec, fit.design, csv.table, csv.report);
  const std::vector<PredictionFacts> predictions = PredictRows(fit, rows);
  ASSERT_EQ(predictions.size(), 2U);
  EXPECT_NEAR(predictions[0].mean, 40, 1);
  EXPECT_NEAR(predictions[1].mean, 38, 1);
  // 95 % of errors of standard deviation 4.
  EXPECT_NEAR(predictions[0].upper - predictions[0].lower, 2 * 1.96 * 4, 1);
}

TEST(FitTest, SaysWhatTheNoiseDid) {
  const Fit little = FitOf(SmallSpec(), 1), much = FitOf(SmallSpec(), 800);
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_GE(little.result.coefficients[k].noise_factor, 1);
    EXPECT_GT(much.result.coefficients[k].noise_factor, little.result.coefficients[k].noise_factor);
    EXPECT_GT(much.result.coefficients[k].stddev, 3 * little.result.coefficients[k].stddev);
  }
  EXPECT_THAT(much.result.warnings, Contains(HasSubstr("The noise covers most")));
  EXPECT_THAT(little.result.warnings, Contains(HasSubstr("do not repair what clipping")));
  EXPECT_THAT(FitText(much.result), HasSubstr("Linear regression of y"));
  Spec plain = SmallSpec();
  plain.estimator = Estimator::kPlain;
  const Fit naive = FitOf(plain, 4000);
  EXPECT_THAT(naive.result.warnings, Contains(HasSubstr("leave the privacy noise out")));
  EXPECT_GT(naive.result.negative_eigenvalues, 0U);
  EXPECT_THAT(naive.result.warnings, Contains(HasSubstr("negative; the absolute value")));
}

TEST(FitTest, IsAFunctionOfTheSum) {
  const Fit first = FitOf(SmallSpec(), 5), second = FitOf(SmallSpec(), 5);
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(first.result.coefficients[k].mean, second.result.coefficients[k].mean);
    EXPECT_EQ(first.result.coefficients[k].upper, second.result.coefficients[k].upper);
  }
}

TEST(FitTest, RefusesSumsOfSomethingElse) {
  const Spec spec = SmallSpec();
  const stats::blr::Design design = DesignOf(spec);
  crypto::SystemRandom random;
  ReleasedSum sum = SumOf(spec, design, 10, 1);
  sum.entries.pop_back();
  EXPECT_THROW(FitSum(spec, design, sum, random), Error);
  sum = SumOf(spec, design, 10, 1);
  sum.noise_stddev = 0;
  EXPECT_THROW(FitSum(spec, design, sum, random), Error);
  sum.noise_stddev = 1;
  sum.rows = 0;
  EXPECT_THROW(FitSum(spec, design, sum, random), Error);
}

TEST(BoundsTest, FollowTheSpreadAndStayWithinTheBounds) {
  Spec spec = SmallSpec();
  spec.collects = Collects::kSpread;
  const stats::blr::Design design = DesignOf(spec);
  const ReleasedSum sum = SumOf(spec, design, 1000, 0.01);
  const NextNoise next{1.0, 1e-6, false, 1.25};
  crypto::Prg random(FitKey(sum));
  const TightBounds bounds = BoundsFromSpread(spec, design, sum, next, random);
  // x has a standard deviation of 1.2 around 2, the middle of its bounds.
  ASSERT_EQ(bounds.stddevs.size(), 4U);
  EXPECT_NEAR(bounds.stddevs[0], 1.2, 0.15);
  ASSERT_EQ(bounds.clip.size(), 2U);  // factors keep theirs
  const double reach = std::min(4.0, bounds.thresholds.features * bounds.stddevs[0]);
  EXPECT_NEAR(bounds.clip.at("x").lower, 2 - reach, 1e-9);
  EXPECT_NEAR(bounds.clip.at("x").upper, 2 + reach, 1e-9);
  Spec tight = SmallSpec();
  tight.clip = bounds.clip;
  EXPECT_LT(DesignOf(tight).target.bound, 50);
  EXPECT_THAT(ClipSection(bounds), HasSubstr("[regression.clip]\nx = ["));
  EXPECT_THROW(BoundsFromSpread(SmallSpec(), design, sum, next, random), Error);
}

}  // namespace
}  // namespace partita::sums::regression::fit_test
