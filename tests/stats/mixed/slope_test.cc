// Linear mixed models with a random intercept and slope in the clear: against lme4 and nlme, their derivatives against
// differences, the likelihood against the rows' own covariance, and at the edge.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <random>

#include "stats/mixed/random_slope.h"
#include "tests/paths.h"
#include "tests/stats/mixed/slope_tables.h"

namespace partita::stats::mixed::slope_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using nlohmann::json;
using testing::DrawSloped;
using testing::SlopedTable;
using testing::SplitSloped;
using testing::TableOfR;

constexpr double kNone = 0;

SlopeSums SumsOf(const SlopedTable& table) {
  return SumSlopes(table.x, table.y, table.clusters, table.slope);
}

// Columns, and the outcome, in [-1, 1]: deviations in units of both.
void ScaleDown(SlopedTable& table, VectorXd& columns, double& outcome) {
  columns = table.x.cwiseAbs().colwise().maxCoeff().transpose();
  for (Index c = 0; c < table.x.cols(); ++c) table.x.col(c) /= columns[c];
  outcome = table.y.cwiseAbs().maxCoeff();
  table.y /= outcome;
}

TEST(SlopeTwin, IsLme4s) {
  std::ifstream file(FixturePath("references/mixed/slopes.json"));
  const json tables = json::parse(file);
  size_t fits = 0;
  for (const auto& [name, of_r] : tables.items()) {
    if (name == "dialyzer") continue;
    SlopedTable table = TableOfR(of_r);
    VectorXd columns;
    double outcome = 1;
    ScaleDown(table, columns, outcome);
    const SlopeSums sums = SumsOf(table);
    const auto p = static_cast<size_t>(table.x.cols());
    const auto n = static_cast<double>(table.y.size());
    for (const json& wanted : of_r["fits"]) {
      SCOPED_TRACE(name + (wanted["reml"] ? " REML" : " ML"));
      const bool reml = wanted["reml"];
      const SlopeFit fit = FitSlopes(std::span(&sums, 1), reml ? Criterion::kReml : Criterion::kMl);
      ASSERT_TRUE(fit.converged);
      for (size_t i = 0; i < p; ++i) {
        const auto c = static_cast<Index>(i);
        const double unit = outcome / columns[c], error = wanted["standard_error"][i];
        EXPECT_NEAR(fit.point[c] * unit, wanted["estimate"][i].get<double>(), 1e-5 * error);
        EXPECT_NEAR(fit.standard_errors[c] * unit, error, 1e-5 * error);
      }
      const VectorXd psi = fit.point.tail(kDeviations);
      const std::vector<double> units = {outcome, outcome / columns[table.slope], outcome};
      for (size_t k = 0; k < 3; ++k) {
        const double deviation = wanted["deviations"][k];
        EXPECT_NEAR(std::exp(psi[k == 2 ? 3 : static_cast<Index>(k)]) * units[k], deviation,
                    1e-5 * deviation);
      }
      EXPECT_NEAR(std::tanh(psi[2]), wanted["correlation"].get<double>(), 1e-5);
      double criterion = fit.criterion + 2 * n * std::log(outcome);
      if (reml) {
        criterion -= 2 * static_cast<double>(p) * std::log(outcome);
        criterion += 2 * columns.array().log().sum();
      }
      EXPECT_NEAR(criterion, wanted["criterion"].get<double>(), 1e-6);
      const std::vector<double> errors = wanted["psi_errors"];
      ASSERT_EQ(errors.size(), 4u);
      for (size_t k = 0; k < 4; ++k)
        EXPECT_NEAR(fit.standard_errors[static_cast<Index>(p + k)], errors[k], 1e-5 * errors[k]);
      ++fits;
    }
  }
  EXPECT_EQ(fits, 10u);
}

// lme4's fit of this table is singular, with a correlation of 1.
TEST(SlopeTwin, AtTheEdgeThereIsNoFit) {
  std::ifstream file(FixturePath("references/mixed/slopes.json"));
  SlopedTable table = TableOfR(json::parse(file)["dialyzer"]);
  VectorXd columns;
  double outcome = 1;
  ScaleDown(table, columns, outcome);
  const SlopeSums sums = SumsOf(table);
  for (const Criterion criterion : {Criterion::kReml, Criterion::kMl})
    EXPECT_FALSE(FitSlopes(std::span(&sums, 1), criterion).converged);
}

// Of dense matrices, row by row.
double DenseLogLikelihood(const SlopedTable& table, const VectorXd& point, Criterion criterion) {
  const Index n = table.y.size(), p = table.x.cols();
  const VectorXd psi = point.tail(kDeviations);
  const double s0 = std::exp(psi[0]), s1 = std::exp(psi[1]), rho = std::tanh(psi[2]),
               sigma = std::exp(psi[3]);
  MatrixXd v = sigma * sigma * MatrixXd::Identity(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      if (table.clusters[static_cast<size_t>(i)] != table.clusters[static_cast<size_t>(j)])
        continue;
      const double a = table.x(i, table.slope), b = table.x(j, table.slope);
      v(i, j) += s0 * s0 + rho * s0 * s1 * (a + b) + s1 * s1 * a * b;
    }
  }
  const Eigen::LLT<MatrixXd> factor(v);
  const VectorXd r = table.y - table.x * point.head(p);
  const MatrixXd lower = factor.matrixL();
  double l = -(static_cast<double>(n) * std::log(2 * std::numbers::pi) +
               2 * lower.diagonal().array().log().sum() + r.dot(factor.solve(r))) /
             2;
  if (criterion == Criterion::kReml)
    l -= std::log((table.x.transpose() * factor.solve(table.x)).determinant()) / 2;
  return l;
}

SlopeAt At(const SlopeSums& sums, const VectorXd& point, Criterion criterion,
           Information information = Information::kObserved) {
  SlopeAt at = SlopesAt(sums, point, criterion, information);
  if (criterion == Criterion::kReml) AddReml(at, information);
  return at;
}

VectorXd APoint() {
  VectorXd point(7);
  point << 0.2, 0.3, -0.1, -1.2, -0.9, 0.4, -1.1;
  return point;
}

TEST(SlopeTwin, LikelihoodIsThatOfTheRowsCovariance) {
  const SlopedTable table = DrawSloped(1, {.clusters = 9});
  for (const Criterion criterion : {Criterion::kReml, Criterion::kMl}) {
    EXPECT_NEAR(At(SumsOf(table), APoint(), criterion).log_likelihood,
                DenseLogLikelihood(table, APoint(), criterion), 1e-9);
  }
}

TEST(SlopeTwin, ScoreAndInformationAreDerivatives) {
  const SlopedTable table = DrawSloped(2, {.clusters = 12});
  const SlopeSums sums = SumsOf(table);
  const auto n = static_cast<double>(table.y.size());
  for (const Criterion criterion : {Criterion::kReml, Criterion::kMl}) {
    for (const double z : {0.4, -1.3, kNone}) {
      VectorXd point = APoint();
      point[5] = z;
      const SlopeAt at = At(sums, point, criterion);
      constexpr double kStep = 1e-5;
      for (Index i = 0; i < point.size(); ++i) {
        VectorXd above = point, below = point;
        above[i] += kStep;
        below[i] -= kStep;
        const SlopeAt up = At(sums, above, criterion), down = At(sums, below, criterion);
        EXPECT_NEAR(at.score[i], (up.log_likelihood - down.log_likelihood) / (2 * kStep), 1e-6 * n);
        for (Index j = 0; j < point.size(); ++j) {
          EXPECT_NEAR(at.information(i, j), -(up.score[j] - down.score[j]) / (2 * kStep), 1e-5 * n)
              << i << " " << j;
        }
      }
    }
  }
}

// Of outcomes drawn at the point: the scores' covariance, of REML that of psi with b at its maximum. Of 4000 draws the
// relative error of a variance is about sqrt(3 / 4000) = 0.027; 0.2 is 7 of these: below 1e-9 for 14 entries.
TEST(SlopeTwin, ExpectedInformationIsTheScoresCovariance) {
  VectorXd point = APoint();
  constexpr int kDraws = 4000;
  for (const Criterion criterion : {Criterion::kReml, Criterion::kMl}) {
    const bool reml = criterion == Criterion::kReml;
    MatrixXd covariance = MatrixXd::Zero(7, 7), expected = MatrixXd::Zero(7, 7);
    for (int draw = 0; draw < kDraws; ++draw) {
      const SlopedTable table =
          DrawSloped(100 + static_cast<uint64_t>(draw), {.clusters = 10, .design = 5, .at = point});
      const SlopeSums sums = SumsOf(table);
      VectorXd at_maximum = point;
      if (reml) {
        const SlopeAt at = At(sums, point, criterion);
        at_maximum.head(3) +=
            MatrixXd(at.information.topLeftCorner(3, 3)).ldlt().solve(at.score.head(3));
      }
      const SlopeAt at = At(sums, at_maximum, criterion, Information::kExpected);
      covariance += at.score * at.score.transpose() / kDraws;
      expected += at.information / kDraws;
    }
    for (Index i = reml ? 3 : 0; i < 7; ++i)
      EXPECT_NEAR(expected(i, i) / covariance(i, i), 1, 0.2) << i;
    for (Index i = 3; i < 7; ++i) {
      for (Index j = 3; j < i; ++j) {
        EXPECT_NEAR(expected(i, j), covariance(i, j),
                    0.2 * std::sqrt(covariance(i, i) * covariance(j, j)));
      }
    }
  }
}

TEST(SlopeTwin, SitesAddUp) {
  const SlopedTable table = DrawSloped(3, {.clusters = 30, .most_rows = 9});
  std::vector<SlopeSums> sites;
  for (const SlopedTable& own : SplitSloped(table, 3)) sites.push_back(SumsOf(own));
  SlopedTable nothing = table;
  nothing.x.resize(0, table.x.cols());
  nothing.y.resize(0);
  nothing.clusters.clear();
  sites.push_back(SumsOf(nothing));
  const SlopeSums pooled = SumsOf(table);
  for (const Criterion criterion : {Criterion::kReml, Criterion::kMl}) {
    const SlopeFit split = FitSlopes(sites, criterion),
                   whole = FitSlopes(std::span(&pooled, 1), criterion);
    ASSERT_TRUE(split.converged && whole.converged);
    EXPECT_LT((split.point - whole.point).norm(), 1e-7);
    EXPECT_NEAR(split.criterion, whole.criterion, 1e-8);
  }
}

// Steps of variances: from 1 to 1.2 and the covariance by both.
TEST(SlopeTwin, ScoredStepsMoveVariances) {
  VectorXd at(5), opened(5);
  at << 0, 0, 0, 0, 0;
  opened << 3, 0.1, 0.1, 0.3, -5;
  const VectorXd next = AfterScoring(at, opened);
  EXPECT_EQ(next[0], 3);
  EXPECT_NEAR(next[1], std::log(1.2) / 2, 1e-6);
  EXPECT_NEAR(std::tanh(next[3]), 0.3 / 1.2, 1e-6);
  EXPECT_NEAR(next[4], -std::log(16) / 2, 1e-6);
  EXPECT_TRUE(WithinLimits(next));
  opened[3] = 1e9;
  EXPECT_NEAR(AfterScoring(at, opened)[3], kMostScoredZ, 1e-6);
  at[4] = opened[4] = kLeastDeviationLog;
  opened[4] -= 1;
  EXPECT_EQ(AfterScoring(at, opened)[4], kLeastDeviationLog);
}

}  // namespace
}  // namespace partita::stats::mixed::slope_test
