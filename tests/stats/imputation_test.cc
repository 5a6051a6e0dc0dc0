// Multiple imputation on the moments of patterns against imputation of rows.
#include "stats/sem/imputation.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "tests/stats/blr/random.h"
#include "tests/stats/imputation_data.h"

namespace partita::stats::imputation_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using testing::Saturated;

// Schafer's data augmentation on rows, written out.
class RowImputation {
 public:
  RowImputation(MatrixXd rows, uint64_t seed)
      : rows_(std::move(rows)), random_(seed), tape_(random_) {}

  GroupMoments Impute(std::size_t iterations) {
    const Index n = rows_.rows(), p = rows_.cols();
    VectorXd mean(p);
    MatrixXd covariance = MatrixXd::Zero(p, p);
    for (Index v = 0; v < p; ++v) {
      double count = 0, sum = 0, square = 0;
      for (Index r = 0; r < n; ++r) {
        if (std::isnan(rows_(r, v))) continue;
        ++count;
        sum += rows_(r, v);
        square += rows_(r, v) * rows_(r, v);
      }
      mean(v) = sum / count;
      covariance(v, v) = square / count - mean(v) * mean(v);
    }
    for (std::size_t t = 0;; ++t) {
      MatrixXd completed = rows_;
      for (Index r = 0; r < n; ++r) FillRow(mean, covariance, r, completed);
      const VectorXd centre = completed.colwise().mean();
      const MatrixXd deviation = completed.rowwise() - centre.transpose();
      const MatrixXd scatter = deviation.transpose() * deviation;
      if (t == iterations) return {static_cast<double>(n), centre, scatter / n};
      // The inverse of a Wishart matrix with scale scatter^-1, from its rows.
      const MatrixXd z = tape_.Normals(n + 1 + AverageMissing(), p);
      const MatrixXd scale = Eigen::LLT<MatrixXd>(scatter.inverse()).matrixL();
      const MatrixXd drawn = z * scale.transpose();
      covariance = (drawn.transpose() * drawn).inverse();
      const MatrixXd root = Eigen::LLT<MatrixXd>(covariance / n).matrixL();
      mean = centre + root * tape_.Normals(p, 1);
    }
  }

 private:
  // Of incomplete rows, to the nearest whole number.
  Index AverageMissing() const {
    double rows = 0, values = 0;
    for (Index r = 0; r < rows_.rows(); ++r) {
      const auto missing = static_cast<double>(rows_.row(r).array().isNaN().count());
      rows += missing > 0 ? 1 : 0;
      values += missing;
    }
    return std::lround(values / rows);
  }

  void FillRow(const VectorXd& mean, const MatrixXd& covariance, Index r, MatrixXd& completed) {
    std::vector<Index> known, missing;
    for (Index v = 0; v < rows_.cols(); ++v)
      (std::isnan(rows_(r, v)) ? missing : known).push_back(v);
    if (missing.empty()) return;
    const MatrixXd inverse = covariance(known, known).inverse();
    const VectorXd row = rows_.row(r);
    const VectorXd expected =
        mean(missing) + covariance(missing, known) * inverse * (row(known) - mean(known));
    const MatrixXd left = covariance(missing, missing) -
                          covariance(missing, known) * inverse * covariance(known, missing);
    const MatrixXd root = Eigen::LLT<MatrixXd>(left).matrixL();
    const VectorXd value = expected + root * tape_.Normals(root.rows(), 1);
    for (std::size_t i = 0; i < missing.size(); ++i)
      completed(r, missing[i]) = value(static_cast<Index>(i));
  }

  MatrixXd rows_;
  blr::TestRandom random_;
  VariateTape tape_;
};

// Means and standard errors of a statistic's moments over draws.
struct Sums {
  double n = 0, sum = 0, square = 0;
  void Add(double x) {
    ++n;
    sum += x;
    square += x * x;
  }
  double mean() const { return sum / n; }
  double variance() const { return std::max(0.0, square / n - mean() * mean()); }
};

// Thirty rows of four variables, three patterns, one of which has two rows and two observed
// variables, so that its root is not a Cholesky factor. The posterior predictive law of every mean
// and covariance is compared by mean and variance over 4000 imputations of each kind.
TEST(ImputationTest, MomentsOfPatternsHaveTheLawOfRows) {
  blr::TestRandom random(5);
  blr::Variates variates(random);
  MatrixXd rows(30, 4);
  for (Index r = 0; r < 30; ++r) {
    const double common = variates.Normal();
    for (Index v = 0; v < 4; ++v)
      rows(r, v) = 10.0 * static_cast<double>(v) + common + variates.Normal();
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (Index r = 20; r < 28; ++r) rows(r, 3) = nan;
  for (Index r = 28; r < 30; ++r) rows(r, 0) = rows(r, 2) = nan;
  const ParameterTable table = Saturated(4);
  const std::vector<PatternMoments> patterns = PatternsOf(rows, 0);
  ASSERT_EQ(patterns.size(), 3U);

  constexpr std::size_t kDraws = 4000, kIterations = 25;
  SilentProgress progress;
  VariateTape tape(random);
  const std::vector<GroupMoments> imputed =
      ImputeMoments(table, patterns, {kDraws, kIterations}, tape, progress);
  ASSERT_EQ(imputed.size(), kDraws);
  RowImputation by_rows(rows, 6);
  std::vector<Sums> ours(14), theirs(14);
  const auto add = [](const GroupMoments& moments, std::vector<Sums>& sums) {
    std::size_t i = 0;
    for (Index v = 0; v < 4; ++v) {
      sums[i++].Add(moments.mean(v) - 10.0 * static_cast<double>(v));
      for (Index w = 0; w <= v; ++w) sums[i++].Add(std::log1p(std::abs(moments.covariance(v, w))));
    }
  };
  for (std::size_t i = 0; i < kDraws; ++i) {
    add(imputed[i], ours);
    add(by_rows.Impute(kIterations), theirs);
  }
  // Two-sided at 1e-6 over 28 comparisons: 5.5 standard errors. Of a variance the standard error is
  // at most sqrt((kurtosis - 1)/n) times it; kurtosis 6 is allowed for.
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double error = std::sqrt((ours[i].variance() + theirs[i].variance()) / kDraws);
    EXPECT_NEAR(ours[i].mean(), theirs[i].mean(), 5.5 * error + 1e-12) << i;
    const double larger = std::max(ours[i].variance(), theirs[i].variance());
    EXPECT_NEAR(ours[i].variance(), theirs[i].variance(),
                5.5 * larger * std::sqrt(2 * 5.0 / kDraws) + 1e-12)
        << i;
  }
}

// The residual variance of the last variable on the others.
double ResidualVariance(const MatrixXd& covariance) {
  const Index p = covariance.rows() - 1;
  const VectorXd with = covariance.col(p).head(p);
  return covariance(p, p) - with.dot(covariance.topLeftCorner(p, p).llt().solve(with));
}

// Eight variables, of which the last is missing in 40 % of 120 rows, 60 data sets: the mean over
// imputations lies at full information, in units of its standard error sqrt(2 / 72). Jeffreys'
// prior would put it 0.1 above, as many degrees as variables more 0.2 below. Per data set the mean
// of 20 imputations scatters by about 0.13 standard errors: 0.09 is five standard errors of the
// average.
TEST(ImputationTest, ResidualVariancesAreThoseOfFullInformation) {
  constexpr Index kRows = 120, kVariables = 8;
  constexpr int kDataSets = 60;
  blr::TestRandom random(9);
  blr::Variates variates(random);
  VariateTape tape(random);
  SilentProgress progress;
  const ParameterTable table = Saturated(kVariables);
  double above = 0;
  for (int set = 0; set < kDataSets; ++set) {
    MatrixXd rows(kRows, kVariables);
    for (Index r = 0; r < kRows; ++r) {
      const double common = variates.Normal();
      for (Index v = 0; v < kVariables; ++v) rows(r, v) = common + variates.Normal();
      if (r >= 72) rows(r, kVariables - 1) = std::numeric_limits<double>::quiet_NaN();
    }
    const std::vector<PatternMoments> patterns = PatternsOf(rows, 0);
    const double full = ResidualVariance(SaturatedMoments(table, patterns, 0).covariance);
    double imputed = 0;
    for (const GroupMoments& moments : ImputeMoments(table, patterns, {20, 30}, tape, progress))
      imputed += ResidualVariance(moments.covariance) / 20;
    above += (imputed / full - 1) / std::sqrt(2.0 / 72) / kDataSets;
  }
  EXPECT_LT(std::abs(above), 0.09);
}

TEST(ImputationTest, CompleteRowsStayAsTheyAre) {
  blr::TestRandom random(7);
  VariateTape tape(random);
  const MatrixXd rows = tape.Normals(50, 3).array() * 2 + 1000;
  SilentProgress progress;
  const auto patterns = PatternsOf(rows, 0);
  for (const GroupMoments& moments :
       ImputeMoments(Saturated(3), patterns, {3, 2}, tape, progress)) {
    EXPECT_LT((moments.mean - patterns[0].moments.mean).norm(), 1e-10);
    EXPECT_LT((moments.covariance - patterns[0].moments.covariance).norm(), 1e-10);
  }
}

// E W = degrees I, var W_ii = 2 degrees, var W_ij = degrees.
TEST(ImputationTest, WishartMatricesHaveTheirMoments) {
  blr::TestRandom random(8);
  VariateTape tape(random);
  constexpr int kDraws = 20000;
  for (const double degrees : {0.0, 2.0, 3.0, 11.0}) {
    MatrixXd sum = MatrixXd::Zero(3, 3), square = MatrixXd::Zero(3, 3);
    for (int i = 0; i < kDraws; ++i) {
      const MatrixXd w = tape.Wishart(degrees, 3);
      sum += w / kDraws;
      square += w.cwiseAbs2() / kDraws;
    }
    for (Index i = 0; i < 3; ++i) {
      for (Index j = 0; j < 3; ++j) {
        const double variance = degrees * (i == j ? 2 : 1), mean = i == j ? degrees : 0;
        EXPECT_NEAR(sum(i, j), mean, 5.5 * std::sqrt(variance / kDraws) + 1e-12);
        EXPECT_NEAR(square(i, j) - mean * mean, variance, 0.12 * variance + 1e-12);
      }
    }
  }
}

// By hand: W = 1, B = 1, T = 7/3, lambda = 4/7.
TEST(ImputationTest, RulesForSeveralImputations) {
  const CombinedEstimate combined = CombineImputations({1, 2, 3}, {1, 1, 1}, 100, 0.95);
  EXPECT_NEAR(combined.estimate, 2, 1e-15);
  EXPECT_NEAR(combined.standard_error, std::sqrt(7.0 / 3), 1e-15);
  const double of_sampling = 2 * 49.0 / 16, observed = 101.0 / 103 * 100 * 3 / 7;
  EXPECT_NEAR(combined.degrees, 1 / (1 / of_sampling + 1 / observed), 1e-12);
  const double r = 4.0 / 3;
  EXPECT_NEAR(combined.missing_information, (r + 2 / (combined.degrees + 3)) / (r + 1), 1e-12);
  // t with 5.3459 degrees: 2.5215 at 0.975.
  EXPECT_NEAR(combined.upper, 2 + 2.5215 * std::sqrt(7.0 / 3), 1e-3);
  EXPECT_NEAR(combined.lower, 4 - combined.upper, 1e-12);
  const CombinedEstimate same = CombineImputations({1, 1}, {2, 2}, 50, 0.95);
  EXPECT_EQ(same.missing_information, 0);
  EXPECT_NEAR(same.degrees, 51.0 / 53 * 50, 1e-12);
  EXPECT_THROW(CombineImputations({1}, {1}, 50, 0.95), Error);
  EXPECT_THROW(CombineImputations({1, 2}, {1}, 50, 0.95), Error);
}

TEST(ImputationTest, RowsThatCannotBeImputed) {
  blr::TestRandom random(9);
  VariateTape tape(random);
  SilentProgress progress;
  MatrixXd rows = tape.Normals(40, 3);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto impute = [&](const MatrixXd& of) {
    return ImputeMoments(Saturated(3), PatternsOf(of, 0), {2, 5}, tape, progress);
  };
  MatrixXd never = rows;
  never.col(1).setConstant(nan);
  EXPECT_THROW(impute(never), Error);
  MatrixXd constant = rows;
  constant.col(1).setConstant(4);
  EXPECT_THROW(impute(constant), Error);
  EXPECT_THROW(impute(rows.topRows(3)), Error);
  EXPECT_THROW(ImputeMoments(Saturated(3), PatternsOf(rows, 0), {0, 5}, tape, progress), Error);
  EXPECT_THROW(ImputeMoments(Saturated(3), {}, {2, 5}, tape, progress), Error);
}

// Roots 2, 3, 4: r = 4/3, D2 = (29/6 - 2 r) / (1 + r) = 13/14, nu = 2^-1 2 (1 + 3/4)^2.
TEST(ImputationTest, ChiSquaresAreCombinedAsD2) {
  const ChiSquareTest test = CombineChiSquares({4, 9, 16}, 2);
  EXPECT_NEAR(test.f, 13.0 / 14, 1e-12);
  EXPECT_EQ(test.numerator_degrees, 2);
  EXPECT_NEAR(test.denominator_degrees, 3.0625, 1e-12);
  // With two degrees above, P(F > f) = (1 + 2 f / nu)^(-nu / 2).
  EXPECT_NEAR(test.p_value, std::pow(1 + 2 * test.f / 3.0625, -3.0625 / 2), 1e-9);
  // Without variance between imputations: a chi-square with four degrees, P = exp(-d/2) (1 + d/2).
  EXPECT_NEAR(CombineChiSquares({6, 6, 6}, 4).p_value, 4 * std::exp(-3), 1e-6);
  EXPECT_THROW(CombineChiSquares({1}, 2), Error);
  EXPECT_THROW(CombineChiSquares({1, 2}, 0), Error);
}

}  // namespace
}  // namespace partita::stats::imputation_test
