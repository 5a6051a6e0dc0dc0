// Newton's method with a guard, as sealed fits take it: that it descends and comes to the maximum of
// Maximise on random tables, with rare events, outliers and coefficients near separation.
#include "stats/glm/guarded.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "stats/glm/fit.h"

namespace partita::stats::glm::guarded_test {
namespace {

using Eigen::Index;

double Draw(std::mt19937_64& random, int kind) {
  std::uniform_real_distribution<double> uniform;
  switch (kind) {
    case 0:
      return std::normal_distribution<double>()(random);
    case 1:
      return uniform(random) < 0.15 ? 1 : 0;
    case 2:
      return std::student_t_distribution<double>(2)(random);
    default:
      return std::pow(std::exponential_distribution<double>()(random), 2);
  }
}

// Columns in [-1, 1], some of them within a part of it only.
Rows RandomRows(std::mt19937_64& random, Family family) {
  std::uniform_real_distribution<double> uniform;
  const Index sizes[] = {80, 200, 600, 1500};
  const Index n = sizes[random() % 4], p = 2 + static_cast<Index>(random() % 8);
  Rows rows{Eigen::MatrixXd::Ones(n, p), Eigen::VectorXd(n), Eigen::VectorXd::Zero(n)};
  Eigen::VectorXd b(p);
  for (Index j = 1; j < p; ++j) {
    const int kind = static_cast<int>(random() % 4);
    for (Index i = 0; i < n; ++i) rows.x(i, j) = Draw(random, kind);
    rows.x.col(j) *= (0.1 + 0.9 * uniform(random)) / rows.x.col(j).cwiseAbs().maxCoeff();
    b[j] = std::normal_distribution<double>(0, random() % 2 == 0 ? 1 : 4)(random);
  }
  const double rare[] = {-4.6, -3, -1, 0, 1.5};
  b[0] = family == Family::kBinomial ? rare[random() % 5] : -1 + 3 * uniform(random);
  const Eigen::VectorXd eta = rows.x * b;
  for (Index i = 0; i < n; ++i) {
    if (family == Family::kBinomial) {
      rows.y[i] = uniform(random) < 1 / (1 + std::exp(-eta[i])) ? 1 : 0;
    } else if (family == Family::kGamma) {
      // Of a dispersion of 2 (more variance than exponential), 1/4 or 1/100.
      const double shapes[] = {0.5, 4, 100};
      const double shape = shapes[p % 3];
      const double y = std::gamma_distribution<double>(shape, std::exp(eta[i]) / shape)(random);
      rows.y[i] = std::clamp(y, 1e-3, 1e6);
    } else {
      rows.y[i] = std::poisson_distribution<int>(std::exp(std::min(eta[i], 6.0)))(random);
    }
  }
  if (family == Family::kPoisson && random() % 5 == 0)
    rows.y[static_cast<Index>(random() % static_cast<uint64_t>(n))] = 800;
  return rows;
}

void ExpectDescent(Family family, int trials, uint64_t seed, double of_row = 0) {
  std::mt19937_64 random(seed);
  const Law law = LawOf(family);
  constexpr int kTables = 400;
  int there = 0, missed = 0;
  for (int table = 0; table < kTables; ++table) {
    SCOPED_TRACE(std::string(FamilyName(law)) + " " + std::to_string(table));
    const Rows rows = RandomRows(random, family);
    const double most = rows.y.maxCoeff(), sum = rows.y.sum();
    if (sum < 8 || (law.binary && sum > static_cast<double>(rows.y.size()) - 8)) continue;
    const Limits limits = LimitsOf(law, family == Family::kGamma ? 1e-3 : 0, most);
    Eigen::VectorXd ridge =
        Eigen::VectorXd::Constant(rows.x.cols(), of_row * static_cast<double>(rows.y.size()));
    ridge[0] = 0;
    const Maximum maximum = Maximise(law, rows, limits, ridge);
    if (!maximum.converged) continue;
    ++there;
    Guard guard{.trials = trials};
    if (family == Family::kGamma) guard.decrement = 0x1p-34;
    const Guarded guarded = FitGuarded(law, rows, limits, true, guard, ridge);
    // What is taken loses less than the slack, whatever the data.
    EXPECT_LE(guarded.most_rise, 0x1p-4);
    if (!guarded.converged) {
      ++missed;
      continue;
    }
    PointSums sums = SumsAt(law, rows, maximum.point, limits);
    AddRidge(sums, maximum.point, ridge);
    const Eigen::MatrixXd inverse =
        sums.information.ldlt().solve(Eigen::MatrixXd::Identity(rows.x.cols(), rows.x.cols()));
    const double freedom = static_cast<double>(rows.y.size() - rows.x.cols());
    const double dispersion = HasDispersion(law) ? sums.pearson / freedom : 1;
    for (Index j = 0; j < rows.x.cols(); ++j)
      EXPECT_NEAR(guarded.point[j], maximum.point[j], 1e-4 * std::sqrt(dispersion * inverse(j, j)));
  }
  EXPECT_GT(there, kTables / 2);
  // These are tables made to be hard; those that are missed are reported as such.
  EXPECT_LE(missed, kTables / 50) << "of " << there;
}

TEST(GuardedTest, LogisticDescends) { ExpectDescent(Family::kBinomial, 10, 1); }
TEST(GuardedTest, PoissonDescends) { ExpectDescent(Family::kPoisson, 14, 2); }
TEST(GuardedTest, GammaDescends) { ExpectDescent(Family::kGamma, 6, 5); }
TEST(GuardedTest, RidgesDescend) {
  ExpectDescent(Family::kBinomial, 10, 3, 0.01);
  ExpectDescent(Family::kPoisson, 14, 4, 0.01);
  ExpectDescent(Family::kGamma, 6, 6, 0.01);
}

// Complete separation, and a level without events: there is no maximum, and none is reported.
TEST(GuardedTest, SeparationDoesNotConverge) {
  const Index n = 60;
  Rows rows{Eigen::MatrixXd::Ones(n, 2), Eigen::VectorXd(n), Eigen::VectorXd::Zero(n)};
  for (Index i = 0; i < n; ++i) {
    rows.x(i, 1) = i < 30 ? 0 : 1;
    rows.y[i] = i < 30 && i % 3 == 0 ? 1 : 0;
  }
  for (const Family family : {Family::kBinomial, Family::kPoisson}) {
    const Law law = LawOf(family);
    EXPECT_FALSE(FitGuarded(law, rows, LimitsOf(law, 0, 1), true, {}).converged);
  }
  rows.y = rows.x.col(1);
  const Law law = LawOf(Family::kBinomial);
  EXPECT_FALSE(FitGuarded(law, rows, LimitsOf(law, 0, 1), true, {}).converged);
}

}  // namespace
}  // namespace partita::stats::glm::guarded_test
