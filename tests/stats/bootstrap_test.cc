// The parametric bootstrap against distributions that are known exactly.
#include "stats/sem/bootstrap.h"

#include <gtest/gtest.h>

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "base/error.h"
#include "crypto/kdf.h"
#include "crypto/prg.h"
#include "stats/sem/ram.h"

namespace partita::stats::bootstrap_test {
namespace {

constexpr double kRows = 30, kSlope = 0.6, kResidual = 0.8, kSpread = 2;

// y = 0.6 x + e, in the population.
GroupMoments Population() {
  GroupMoments moments{kRows, Eigen::Vector2d(1, -1), Eigen::MatrixXd(2, 2)};
  const double xx = kSpread * kSpread;
  moments.covariance << kSlope * kSlope * xx + kResidual * kResidual, kSlope * xx, kSlope * xx, xx;
  return moments;
}

ParameterTable Regression(const std::string& more = {}) {
  SemModelOptions options;
  options.meanstructure = true;
  return BuildParameterTable("y ~ b*x\n" + more, options);
}

// Mean and covariance of the drawn moments: E S = Sigma (n - 1) / n, Var S_ij = (n - 1) / n^2
// (Sigma_ij^2 + Sigma_ii Sigma_jj), Var mean = Sigma / n. The stream is fixed; with another key
// each of the five checks would fail once in 1e6 (4.9 standard errors).
TEST(DrawMoments, HasTheMomentsOfNormalSamples) {
  crypto::Prg random(crypto::DeriveKey(crypto::Key(), "draw test"));
  const GroupMoments population = Population();
  const Eigen::MatrixXd& sigma = population.covariance;
  constexpr int kDraws = 20000;
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(2, 2);
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(2);
  for (int i = 0; i < kDraws; ++i) {
    const GroupMoments drawn = DrawMoments(population.mean, sigma, kRows, random);
    EXPECT_EQ(drawn.n, kRows);
    covariance += drawn.covariance / kDraws;
    mean += drawn.mean / kDraws;
  }
  for (Eigen::Index i = 0; i < 2; ++i) {
    EXPECT_NEAR(mean[i], population.mean[i], 4.9 * std::sqrt(sigma(i, i) / kRows / kDraws));
    for (Eigen::Index j = 0; j <= i; ++j) {
      const double variance =
          (kRows - 1) / (kRows * kRows) * (sigma(i, j) * sigma(i, j) + sigma(i, i) * sigma(j, j));
      EXPECT_NEAR(covariance(i, j), sigma(i, j) * (kRows - 1) / kRows,
                  4.9 * std::sqrt(variance / kDraws));
    }
  }
}

// With normal x, (b - beta) sd(x) sqrt(n - 1) / sd(e) has Student's t distribution with n - 1
// degrees of freedom. Standard errors of a percentile and of a standard deviation from 4000 draws,
// the fourth moment of t included; 4.9 of them, on a fixed stream.
TEST(Bootstrap, IntervalOfASlopeIsThatOfStudentsT) {
  const ParameterTable table = Regression();
  SilentProgress progress;
  const SemFit fit = FitSem(table, {Population()}, {}, progress);
  ASSERT_TRUE(fit.converged);
  constexpr size_t kDraws = 4000;
  const Bootstrap bootstrap = ParametricBootstrap(table, {kRows}, fit, kDraws, 0.95, progress);
  EXPECT_EQ(bootstrap.draws, kDraws);
  EXPECT_EQ(bootstrap.failed, 0u);
  const double df = kRows - 1;
  const double unit = kResidual / (kSpread * std::sqrt(df));
  const boost::math::students_t t(df);
  const double q = boost::math::quantile(t, 0.975);
  const double error = 4.9 * unit * std::sqrt(0.025 * 0.975 / kDraws) / boost::math::pdf(t, q);
  size_t slopes = 0;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    if (table.rows[r].op != "~") continue;
    ++slopes;
    const BootstrapInterval& interval = bootstrap.intervals[r];
    EXPECT_NEAR(interval.lower, kSlope - unit * q, error);
    EXPECT_NEAR(interval.upper, kSlope + unit * q, error);
    const double sd = unit * std::sqrt(df / (df - 2));
    const double kurtosis = 3 + 6 / (df - 4);
    EXPECT_NEAR(interval.standard_error, sd, 4.9 * sd * std::sqrt((kurtosis - 1) / 4 / kDraws));
  }
  EXPECT_EQ(slopes, 1u);
}

TEST(Bootstrap, SameFitSameIntervalsAndFixedRowsHaveNone) {
  const ParameterTable table = Regression("twice := 2*b\n");
  SilentProgress progress;
  const SemFit fit = FitSem(table, {Population()}, {}, progress);
  const Bootstrap first = ParametricBootstrap(table, {kRows}, fit, 100, 0.9, progress);
  const Bootstrap second = ParametricBootstrap(table, {kRows}, fit, 100, 0.9, progress);
  double slope = 0, twice = 0;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const Parameter& row = table.rows[r];
    if (row.free == 0 && row.op != ":=") {
      EXPECT_TRUE(std::isnan(first.intervals[r].lower)) << RowName(table, static_cast<int>(r));
      continue;
    }
    EXPECT_EQ(first.intervals[r].lower, second.intervals[r].lower);
    if (row.op == "~") slope = first.intervals[r].upper;
    if (row.op == ":=") twice = first.intervals[r].upper;
  }
  EXPECT_NEAR(twice, 2 * slope, 1e-12 * twice);
}

TEST(Bootstrap, RefusesFewDrawsAndFitsThatDidNotConverge) {
  const ParameterTable table = Regression();
  SilentProgress progress;
  SemFit fit = FitSem(table, {Population()}, {}, progress);
  EXPECT_THROW(ParametricBootstrap(table, {kRows}, fit, 99, 0.95, progress), Error);
  fit.converged = false;
  EXPECT_THROW(ParametricBootstrap(table, {kRows}, fit, 100, 0.95, progress), Error);
}

}  // namespace
}  // namespace partita::stats::bootstrap_test
