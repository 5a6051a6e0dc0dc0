// Logistic and Poisson models with a random intercept in the clear: against lme4's glmer, their derivatives against
// differences of the likelihood, and the likelihood against integrals.
#include "stats/mixed/laplace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>

#include "tests/paths.h"
#include "tests/stats/mixed/laplace_tables.h"

namespace partita::stats::mixed::laplace_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using nlohmann::json;
using testing::DrawGrouped;
using testing::GroupedOf;

glm::Law Logistic() { return glm::LawOf(glm::Family::kBinomial); }
glm::Law Poisson() { return glm::LawOf(glm::Family::kPoisson); }
const glm::Limits kLimits = {-15, 15};

TEST(LaplaceTwin, IsLme4s) {
  std::ifstream file(FixturePath("references/mixed/laplace.json"));
  const json tables = json::parse(file);
  EXPECT_EQ(tables.size(), 5u);
  for (const auto& [name, of_r] : tables.items()) {
    SCOPED_TRACE(name);
    const glm::Law law = glm::LawByName(of_r["family"].get<std::string>());
    const GroupedRows rows = GroupedOf(of_r);
    const glm::Limits limits = glm::LimitsOf(law, 0, std::max(1.0, rows.y.maxCoeff()));
    const LaplaceFit fit = FitLaplace(law, std::span(&rows, 1), limits);
    ASSERT_TRUE(fit.converged);
    const Index p = rows.x.cols();
    EXPECT_EQ(fit.singular, of_r["tau"] == 0);
    // lme4's optimiser and its numerical Hessian: 1e-3 standard errors, and of these.
    for (Index i = 0; i < p; ++i) {
      const double error = of_r["standard_error"][static_cast<size_t>(i)];
      EXPECT_NEAR(fit.point[i], of_r["estimate"][static_cast<size_t>(i)].get<double>(),
                  1e-3 * error);
      EXPECT_NEAR(fit.standard_errors[i], error, 1e-3 * error);
    }
    EXPECT_NEAR(fit.point[p], of_r["tau"].get<double>(), 1e-4);
    EXPECT_NEAR(fit.log_likelihood, of_r["log_likelihood"].get<double>(), 1e-5);
  }
}

TEST(LaplaceTwin, ScoresAreDerivatives) {
  for (const glm::Law& law : {Logistic(), Poisson()}) {
    for (const double tau : {0.05, 0.6, 2.0}) {
      const GroupedRows rows = DrawGrouped(law, 5, {.groups = 8, .tau = tau});
      VectorXd point(4);
      point << 0.2, 0.4, -0.3, tau;
      const LaplaceSums at = LaplaceAt(law, rows, point, Information::kObserved, kLimits);
      const auto n = static_cast<double>(rows.y.size());
      constexpr double kStep = 1e-5;
      for (Index i = 0; i < 4; ++i) {
        VectorXd above = point, below = point;
        above[i] += kStep;
        below[i] -= kStep;
        const auto up = LaplaceAt(law, rows, above, Information::kExpected, kLimits),
                   down = LaplaceAt(law, rows, below, Information::kExpected, kLimits);
        EXPECT_NEAR(at.score[i], (up.log_likelihood - down.log_likelihood) / (2 * kStep), 1e-6 * n);
        for (Index j = 0; j < 4; ++j) {
          EXPECT_NEAR(at.information(i, j), -(up.score[j] - down.score[j]) / (2 * kStep), 1e-5 * n);
        }
      }
      EXPECT_NEAR(at.score[3], 2 * tau * at.slope, 1e-9 * n);
    }
  }
}

// Of one large group the approximation is near the integral.
TEST(LaplaceTwin, LikelihoodIsNearTheIntegral) {
  const glm::Law law = Logistic();
  const GroupedRows rows = DrawGrouped(law, 9, {.groups = 1, .most_rows = 200, .tau = 0.7});
  VectorXd point(4);
  point << 0.1, 0.5, -0.2, 0.7;
  const VectorXd eta = rows.x * point.head(3);
  double integral = 0;
  constexpr double kStep = 1e-3;
  for (int step = -8000; step <= 8000; ++step) {
    const double u = kStep * step;
    double log_density = -u * u / 2 - std::log(2 * std::numbers::pi) / 2;
    for (Index i = 0; i < eta.size(); ++i) {
      const double at = eta[i] + 0.7 * u;
      log_density += rows.y[i] * at - std::log1p(std::exp(at));
    }
    integral += kStep * std::exp(log_density);
  }
  const auto at = LaplaceAt(law, rows, point, Information::kExpected, kLimits);
  EXPECT_NEAR(at.log_likelihood, std::log(integral), 0.02);
}

// The covariance of scores over outcomes drawn from the model, at small tau where expansions hold. Of 4000 draws
// the relative error of a variance is sqrt(2 / 4000) = 0.022; 0.15 is 6.7 of these: below 1e-9 for 12 entries.
TEST(LaplaceTwin, ExpectedInformationIsTheScoresCovariance) {
  for (const glm::Law& law : {Logistic(), Poisson()}) {
    VectorXd point(4);
    point << -0.5, 0.4, 0.3, 0.15;
    MatrixXd covariance = MatrixXd::Zero(4, 4), expected = MatrixXd::Zero(4, 4);
    constexpr double kDraws = 4000;
    for (int draw = 0; draw < kDraws; ++draw) {
      const GroupedRows rows = DrawGrouped(
          law, 100 + static_cast<uint64_t>(draw),
          {.groups = 10, .most_rows = 6, .tau = 0.15, .b = {-0.5, 0.4, 0.3}, .design = 3});
      const auto at = LaplaceAt(law, rows, point, Information::kExpected, kLimits);
      covariance += at.score * at.score.transpose() / kDraws;
      expected += at.information / kDraws;
    }
    for (Index i = 0; i < 4; ++i) EXPECT_NEAR(expected(i, i) / covariance(i, i), 1, 0.15) << i;
    for (Index i = 0; i < 4; ++i) {
      EXPECT_NEAR(expected(i, 3), covariance(i, 3),
                  0.15 * std::sqrt(covariance(i, i) * covariance(3, 3)));
    }
  }
}

TEST(LaplaceTwin, SitesAddUpAndSeparationIsNoFit) {
  const glm::Law law = Logistic();
  const GroupedRows rows = DrawGrouped(law, 3, {.groups = 20, .tau = 0.8});
  const GroupedRows other = DrawGrouped(law, 4, {.groups = 10, .tau = 0.8});
  GroupedRows both = rows;
  both.x.conservativeResize(rows.x.rows() + other.x.rows(), Eigen::NoChange);
  both.x.bottomRows(other.x.rows()) = other.x;
  both.y.conservativeResize(both.x.rows());
  both.y.tail(other.y.size()) = other.y;
  both.sizes.insert(both.sizes.end(), other.sizes.begin(), other.sizes.end());
  const std::vector<GroupedRows> sites = {rows, other};
  const LaplaceFit split = FitLaplace(law, sites, kLimits),
                   pooled = FitLaplace(law, std::span(&both, 1), kLimits);
  ASSERT_TRUE(split.converged && pooled.converged);
  EXPECT_LT((split.point - pooled.point).norm(), 1e-7);
  GroupedRows separated = rows;
  for (Index i = 0; i < rows.y.size(); ++i) separated.y[i] = rows.x(i, 1) > 0 ? 1 : 0;
  EXPECT_FALSE(FitLaplace(law, std::span(&separated, 1), kLimits).converged);
}

}  // namespace
}  // namespace partita::stats::mixed::laplace_test
