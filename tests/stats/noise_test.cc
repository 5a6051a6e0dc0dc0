// The covariance that noise in the moments adds to the estimates, against refits of moments that
// are moved one by one, and against the spread of refits of noisy moments.
#include "stats/sem/noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace partita::stats::noise_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// The released statistics of one group, in z.
struct Statistics {
  double n = 0;
  VectorXd sum;
  MatrixXd cross;
};

Statistics ToStatistics(const GroupMoments& moments, const StatisticsScale& scale) {
  const VectorXd mean = (moments.mean - scale.centre).cwiseQuotient(scale.half_width);
  const VectorXd inverse = scale.half_width.cwiseInverse();
  const MatrixXd covariance = inverse.asDiagonal() * moments.covariance * inverse.asDiagonal();
  return {moments.n, moments.n * mean, moments.n * (covariance + mean * mean.transpose())};
}

GroupMoments ToMoments(const Statistics& t, const StatisticsScale& scale) {
  const VectorXd mean = t.sum / t.n;
  const MatrixXd covariance = t.cross / t.n - mean * mean.transpose();
  return {t.n, scale.centre + scale.half_width.cwiseProduct(mean),
          scale.half_width.asDiagonal() * covariance * scale.half_width.asDiagonal()};
}

struct Example {
  ParameterTable table;
  std::vector<GroupMoments> moments;
  StatisticsScale scale;
};

// Sample moments of random rows that no model fits exactly.
Example MakeExample(const std::string& model, const SemModelOptions& options, double n,
                    uint64_t seed) {
  Example example;
  example.table = BuildParameterTable(model, options);
  const auto p = static_cast<Index>(example.table.observed.size());
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  example.scale.centre = VectorXd::LinSpaced(p, -1, 2);
  example.scale.half_width = VectorXd::LinSpaced(p, 3, 9);
  for (size_t g = 0; g < example.table.groups.size(); ++g) {
    MatrixXd rows(static_cast<Index>(n), p);
    for (Index r = 0; r < rows.rows(); ++r) {
      const double common = normal(random);
      for (Index i = 0; i < p; ++i)
        rows(r, i) = 0.4 * static_cast<double>(i) + common * (1 + 0.2 * static_cast<double>(i)) +
                     normal(random);
    }
    const VectorXd mean = rows.colwise().mean();
    const MatrixXd centred = rows.rowwise() - mean.transpose();
    example.moments.push_back({n, mean, centred.transpose() * centred / n});
  }
  return example;
}

SemFit Fit(const Example& example, const std::vector<Statistics>& statistics,
           const SemFitOptions& options) {
  std::vector<GroupMoments> moments;
  for (const Statistics& t : statistics) moments.push_back(ToMoments(t, example.scale));
  SilentProgress progress;
  return FitSem(example.table, moments, options, progress);
}

std::vector<Statistics> StatisticsOf(const Example& example) {
  std::vector<Statistics> statistics;
  for (const GroupMoments& group : example.moments)
    statistics.push_back(ToStatistics(group, example.scale));
  return statistics;
}

VectorXd EstimatesOf(const SemFit& fit) {
  VectorXd out(static_cast<Index>(fit.estimates.size()));
  for (size_t r = 0; r < fit.estimates.size(); ++r)
    out[static_cast<Index>(r)] = fit.estimates[r].estimate;
  return out;
}

// Variances of all rows by central differences of refits.
VectorXd NumericVariance(const Example& example, bool count, const SemFitOptions& options) {
  const std::vector<Statistics> at = StatisticsOf(example);
  VectorXd variance = VectorXd::Zero(static_cast<Index>(example.table.rows.size()));
  const double step = 1e-4 * at.front().n;
  for (size_t g = 0; g < at.size(); ++g) {
    const auto move = [&](auto change) {
      std::vector<Statistics> up = at, down = at;
      change(up[g], step);
      change(down[g], -step);
      const VectorXd slope =
          (EstimatesOf(Fit(example, up, options)) - EstimatesOf(Fit(example, down, options))) /
          (2 * step);
      variance += slope.cwiseAbs2();
    };
    if (count) move([](Statistics& t, double h) { t.n += h; });
    for (Index i = 0; i < at[g].sum.size(); ++i) {
      move([i](Statistics& t, double h) { t.sum[i] += h; });
      for (Index j = i; j < at[g].sum.size(); ++j) {
        move([i, j](Statistics& t, double h) {
          t.cross(i, j) += h;
          if (i != j) t.cross(j, i) += h;
        });
      }
    }
  }
  return variance;
}

void ExpectImplicitDerivatives(const Example& example, bool count,
                               Information information = Information::kExpected) {
  SemFitOptions options;
  options.information = information;
  SilentProgress progress;
  const SemFit exact = FitSem(example.table, example.moments, options, progress);
  ASSERT_TRUE(exact.converged);
  const VectorXd expected = NumericVariance(example, count, options);
  SemFit noised = exact;
  const double variance = 0.3;
  AddNoise(example.table, example.moments, {example.scale, variance, count}, options, noised);
  size_t compared = 0;
  for (size_t r = 0; r < exact.estimates.size(); ++r) {
    if (example.table.rows[r].exogenous || exact.estimates[r].standard_error <= 0) continue;
    const double without = exact.estimates[r].standard_error;
    const double with = noised.estimates[r].standard_error;
    const double added = (with * with - without * without) / variance;
    EXPECT_NEAR(added, expected[static_cast<Index>(r)],
                1e-3 * expected[static_cast<Index>(r)] + 1e-10 * without * without / variance)
        << example.table.rows[r].lhs << example.table.rows[r].op << example.table.rows[r].rhs;
    ++compared;
  }
  EXPECT_GE(compared, 3u);
}

TEST(NoiseTest, ARegressionMovesAsItsRefitsDo) {
  ExpectImplicitDerivatives(MakeExample("y ~ x1 + x2", {}, 300, 1), false);
}

TEST(NoiseTest, ANoisedCountMovesTheEstimatesToo) {
  ExpectImplicitDerivatives(MakeExample("y ~ x1 + x2", {}, 300, 2), true);
}

TEST(NoiseTest, AFactorModelThatDoesNotFitMovesAsItsRefitsDo) {
  ExpectImplicitDerivatives(MakeExample("f =~ a + b + c + d", {}, 200, 3), true);
  ExpectImplicitDerivatives(MakeExample("f =~ a + b + c + d", {}, 200, 3), false,
                            Information::kObserved);
}

TEST(NoiseTest, MeansGroupsConstraintsAndDefinedParameters) {
  SemModelOptions options;
  options.groups = {"one", "two"};
  options.group_equal = {"loadings"};
  ExpectImplicitDerivatives(MakeExample("f =~ a + b + c", options, 250, 4), true);
  ExpectImplicitDerivatives(
      MakeExample("m ~ p*x\ny ~ q*m + x\nindirect := p*q\ny ~ 1\nm ~ 1", {}, 300, 5), true);
}

TEST(NoiseTest, NoNoiseChangesNothing) {
  const Example example = MakeExample("y ~ x1 + x2", {}, 300, 6);
  SilentProgress progress;
  const SemFit exact = FitSem(example.table, example.moments, {}, progress);
  SemFit noised = exact;
  AddNoise(example.table, example.moments, {example.scale, 0, true}, {}, noised);
  for (size_t r = 0; r < exact.estimates.size(); ++r)
    EXPECT_NEAR(noised.estimates[r].standard_error, exact.estimates[r].standard_error,
                1e-10 * (1 + exact.estimates[r].standard_error));
}

// Each refit of noisy moments is one draw of the estimate: the spread over draws is the noise's
// part of the variance, within the chi-square band of that many draws.
TEST(NoiseTest, TheSpreadOfNoisyFitsIsTheOneForecast) {
  const Example example = MakeExample("y ~ x1 + x2", {}, 4000, 7);
  const std::vector<Statistics> at = StatisticsOf(example);
  const double sd = 12;  // inflates the standard errors visibly, and is small against n S
  SilentProgress progress;
  const SemFit exact = FitSem(example.table, example.moments, {}, progress);
  SemFit noised = exact;
  AddNoise(example.table, example.moments, {example.scale, sd * sd, false}, {}, noised);
  std::mt19937_64 random(8);
  std::normal_distribution<double> normal(0, sd);
  constexpr int kDraws = 200;
  MatrixXd draws(kDraws, static_cast<Index>(exact.estimates.size()));
  for (int d = 0; d < kDraws; ++d) {
    std::vector<Statistics> moved = at;
    for (Index i = 0; i < moved[0].sum.size(); ++i) {
      moved[0].sum[i] += normal(random);
      for (Index j = i; j < moved[0].sum.size(); ++j) {
        moved[0].cross(i, j) += normal(random);
        moved[0].cross(j, i) = moved[0].cross(i, j);
      }
    }
    draws.row(d) = EstimatesOf(Fit(example, moved, {}));
  }
  for (Index r = 0; r < 2; ++r) {  // the regressions
    const auto row = static_cast<size_t>(r);
    const double without = exact.estimates[row].standard_error;
    const double with = noised.estimates[row].standard_error;
    const double forecast = with * with - without * without;
    EXPECT_GT(with, 1.1 * without);
    const VectorXd column = draws.col(r).array() - draws.col(r).mean();
    const double ratio = column.squaredNorm() / (kDraws - 1) / forecast;
    EXPECT_GT(ratio, 0.582);  // chi-square with 199 degrees of freedom at 1e-6 on each side
    EXPECT_LT(ratio, 1.572);
  }
}

}  // namespace
}  // namespace partita::stats::noise_test
