// What is computed from the draws of a chain: sensitivity to priors, predictive checks, warnings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/error.h"
#include "methods/mcmc/predictive_checks.h"
#include "methods/mcmc/prior_sensitivity.h"
#include "methods/mcmc/result.h"
#include "stats/mcmc/outcomes.h"
#include "tests/stats/blr/random.h"

namespace partita::methods::mcmc::after_the_chain_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using stats::blr::TestRandom;
using stats::blr::Variates;
using stats::mcmc::Draws;
using stats::mcmc::ParsePrior;

// Superchains that began closer together than the posterior is wide may look settled too early.
TEST(ChainSummaryTest, SuperchainsBeginFurtherApartThanThePosterior) {
  TestRandom random(5);
  Variates variates(random);
  ChainPlan plan;
  plan.priors = {ParsePrior("normal(0, 1)"), ParsePrior("normal(0, 1)")};
  plan.start = MatrixXd(2, 8);
  ChainResult result;
  result.draws.superchains = 4;
  result.draws.decisions = 1;
  for (Index c = 0; c < 8; ++c) {
    plan.start.col(c) << static_cast<double>(c / 2), 0.1 * static_cast<double>(c / 2);
    MatrixXd& chain = result.draws.chains.emplace_back(50, 2);
    for (double& value : chain.reshaped()) value = 0.5 * variates.Normal();
  }
  const ChainSummary summary = SummariseChain(plan, {"wide", "narrow"}, result);
  EXPECT_EQ(summary.superchains, 4u);
  ASSERT_EQ(summary.warnings.size(), 1u);
  EXPECT_THAT(summary.warnings[0],
              ::testing::StartsWith(
                  "Superchains began closer together than the posterior of narrow is wide"));
  plan.start.row(1) *= 10;
  EXPECT_TRUE(SummariseChain(plan, {"wide", "narrow"}, result).warnings.empty());
}

// A mean with normal prior N(1, 4) and data worth N(3, 1): precision 1.25. With the prior to the
// power a the precision is 1 + a/4 and the mean (3 + a/4) / (1 + a/4). Of 4e5 draws with weights
// near 1 the error of a mean is 0.0018 sd, of an sd 0.0013; bounds are six times that.
TEST(PriorSensitivityTest, NormalMeanWithNormalPrior) {
  TestRandom random(1);
  Variates variates(random);
  const auto precision = [](double power) { return 1 + power / 4; };
  const auto mean = [&](double power) { return (3 + power / 4) / precision(power); };
  Draws draws;
  for (int c = 0; c < 4; ++c) {
    MatrixXd chain(100000, 2);
    for (Index i = 0; i < chain.rows(); ++i)
      chain.row(i) << mean(1) + variates.Normal() / std::sqrt(precision(1)), variates.Normal();
    draws.chains.push_back(std::move(chain));
  }
  const PriorSensitivity sensitivity =
      ScalePriors({"mu", "free"}, {ParsePrior("normal(1, 2)"), ParsePrior("flat")}, draws);
  const double sd = 1 / std::sqrt(precision(1));
  const ParameterSensitivity& mu = sensitivity.parameters.at(0);
  const auto expect = [&](const ScaledPosterior& at, double power) {
    EXPECT_NEAR(at.shift, (mean(power) - mean(1)) / sd, 0.011) << power;
    EXPECT_NEAR(at.scale, 1 / std::sqrt(precision(power)) / sd, 0.008) << power;
  };
  expect(mu.weaker, kWeakerPrior);
  expect(mu.stronger, kStrongerPrior);
  EXPECT_LT(mu.stronger.shift, -0.05);  // towards the prior
  // Flat and independent: nothing but sampling error.
  EXPECT_NEAR(sensitivity.parameters.at(1).weaker.shift, 0, 0.011);
  EXPECT_FALSE(sensitivity.parameters.at(1).sensitive());
  EXPECT_GT(sensitivity.effective_draws, 0.9 * sensitivity.draws);
  EXPECT_EQ(sensitivity.draws, 400000);
}

// A scale whose posterior is Gamma(5, 1 + rate): with the declared prior to the power a it is
// Gamma(5, 1 + a rate). Of log sigma the mean moves by minus the logarithm of the rates' ratio.
TEST(PriorSensitivityTest, ScalesByTheirDeclaredDensity) {
  TestRandom random(5);
  Variates variates(random);
  constexpr double kRate = 2;
  MatrixXd chain(400000, 1);
  for (double& x : chain.reshaped()) x = std::log(variates.Gamma(5) / (1 + kRate));
  const PriorSensitivity sensitivity =
      ScalePriors({"log_sigma"}, {ParsePrior("exponential(2)")}, {{chain}, 0, 0});
  const double sd = std::sqrt(0.221323);  // trigamma(5): 1/25 + 1/50 + ...
  for (const auto& [power, at] : {std::pair(kWeakerPrior, sensitivity.parameters[0].weaker),
                                  std::pair(kStrongerPrior, sensitivity.parameters[0].stronger)}) {
    EXPECT_NEAR(at.shift, -std::log((1 + power * kRate) / (1 + kRate)) / sd, 0.011) << power;
    EXPECT_NEAR(at.scale, 1, 0.02) << power;
  }
}

TEST(PriorSensitivityTest, StrongPriorsAreSensitive) {
  TestRandom random(2);
  Variates variates(random);
  MatrixXd chain(5000, 1);
  for (double& x : chain.reshaped()) x = 2 + 0.5 * variates.Normal();
  const PriorSensitivity strong =
      ScalePriors({"mu"}, {ParsePrior("normal(0, 0.5)")}, {{chain}, 0, 0});
  EXPECT_TRUE(strong.parameters[0].sensitive());
  EXPECT_LT(strong.effective_draws, 0.95 * strong.draws);
  EXPECT_THROW(ScalePriors({"mu"}, {}, {{chain}, 0, 0}), Error);
  EXPECT_THROW(ScalePriors({"mu"}, {ParsePrior("flat")}, {}), Error);
}

// Shares of single counts against the mass function: 3e5 draws, 40 comparisons, 6 standard errors.
TEST(OutcomesTest, CountsHaveTheirLaw) {
  TestRandom random(3);
  Variates variates(random);
  constexpr Index kDraws = 300000;
  const MatrixXd ones = MatrixXd::Ones(kDraws, 1);
  for (const double mean : {0.05, 0.9, 4.0, 60.0}) {
    VectorXd theta(1);
    theta << std::log(mean);
    const VectorXd drawn = stats::mcmc::DrawPoisson(ones, theta, variates);
    const double first = std::max(0.0, std::floor(mean) - 3);
    for (double k = first; k < first + 10; ++k) {
      const double mass = std::exp(k * std::log(mean) - mean - std::lgamma(k + 1));
      const double share = (drawn.array() == k).cast<double>().mean();
      EXPECT_NEAR(share, mass, 6 * std::sqrt(mass * (1 - mass) / kDraws) + 3.0 / kDraws)
          << mean << " " << k;
    }
  }
  VectorXd theta(2);
  theta << std::log(3.0), std::log(2.0);
  const VectorXd drawn = stats::mcmc::DrawNegativeBinomial(ones, theta, variates);
  // Mean 3, variance 3 + 9/2; P(0) = (2/5)^2.
  EXPECT_NEAR(drawn.mean(), 3, 6 * std::sqrt(7.5 / kDraws));
  EXPECT_NEAR((drawn.array() == 0).cast<double>().mean(), 0.16, 6 * std::sqrt(0.1344 / kDraws));
  theta << 1.5, std::log(0.5);
  const VectorXd normal = stats::mcmc::DrawLinear(ones, theta, variates);
  EXPECT_NEAR(normal.mean(), 1.5, 6 * 0.5 / std::sqrt(kDraws));
  EXPECT_NEAR((normal.array() - normal.mean()).square().mean(), 0.25,
              6 * 0.25 * std::sqrt(2.0 / kDraws));
}

// Mean and variance of counts with large means, above 1e6 by an expansion and at their cap: 2e4
// draws, 6 comparisons, 6 standard errors.
TEST(OutcomesTest, LargeCountsHaveTheirMoments) {
  TestRandom random(4);
  Variates variates(random);
  constexpr Index kDraws = 20000;
  const MatrixXd ones = MatrixXd::Ones(kDraws, 1);
  for (const double mean : {9e5, 2e6, 1e15}) {
    VectorXd theta(1);
    theta << std::log(mean);
    const VectorXd drawn = stats::mcmc::DrawPoisson(ones, theta, variates);
    // Of the logarithm's rounding and the cap.
    const double slack = 1e-12 * mean;
    const VectorXd standard = (drawn.array() - mean) / std::sqrt(mean);
    EXPECT_NEAR(standard.mean(), 0, 6 / std::sqrt(kDraws) + slack / std::sqrt(mean)) << mean;
    EXPECT_NEAR((standard.array() - standard.mean()).square().mean(), 1,
                6 * std::sqrt(2.0 / kDraws))
        << mean;
  }
}

// 400 draws close to `theta`, as of a posterior from very many rows.
Draws Around(const VectorXd& theta, Variates& variates) {
  MatrixXd chain(kReplicates, theta.size());
  for (Index i = 0; i < chain.rows(); ++i) {
    for (Index j = 0; j < theta.size(); ++j) chain(i, j) = theta(j) + 0.001 * variates.Normal();
  }
  return {{chain}, 0, 0};
}

class PredictiveChecksTest : public ::testing::Test {
 protected:
  ChainRows Predictors(Index rows) {
    ChainRows made;
    made.predictors.resize(rows, 1);
    for (double& x : made.predictors.reshaped()) x = variates_.Normal();
    return made;
  }
  std::map<std::string, PredictiveCheck> Check(ChainModel model, const ChainRows& rows,
                                               const VectorXd& theta) {
    ChainSpec spec;
    spec.model = model;
    spec.predictors = {"x"};
    spec.intercept = model != ChainModel::kCox;
    std::map<std::string, PredictiveCheck> checks;
    for (const PredictiveCheck& check :
         CheckPredictions(spec, rows, Around(theta, variates_), random_)) {
      checks[check.statistic] = check;
    }
    return checks;
  }
  // Rows of the model itself: they and their 400 replicates are exchangeable, so that p is 0 or 1
  // with probability 2/401, of three data sets at once with 1.3e-7.
  using Checks = std::map<std::string, PredictiveCheck>;
  void ExpectUsual(size_t count, const std::function<Checks()>& draw) {
    std::map<std::string, int> extreme;
    for (int set = 0; set < 3; ++set) {
      const Checks checks = draw();
      EXPECT_EQ(checks.size(), count);
      for (const auto& [name, check] : checks) {
        extreme[name] += check.p_value <= 0 || check.p_value >= 1 ? 1 : 0;
        EXPECT_LE(check.lower, check.upper) << name;
      }
    }
    for (const auto& [name, times] : extreme) EXPECT_LT(times, 3) << name;
  }

  TestRandom random_{4};
  Variates variates_{random_};
};

TEST_F(PredictiveChecksTest, LinearRowsWithAnOutlier) {
  VectorXd theta(3);
  theta << 1, 0.5, 0;
  ChainRows rows = Predictors(200);
  ChainSpec spec;
  spec.predictors = {"x"};
  ExpectUsual(4, [&] {
    rows.outcome = stats::mcmc::DrawLinear(DesignOf(spec, rows), theta, variates_);
    return Check(ChainModel::kLinear, rows, theta);
  });
  rows.outcome(7) = 12;
  const auto checks = Check(ChainModel::kLinear, rows, theta);
  EXPECT_EQ(checks.at("maximum").p_value, 0);
  EXPECT_EQ(checks.at("maximum").observed, 12);
  EXPECT_GT(checks.at("minimum").p_value, 0);
  EXPECT_TRUE(Check(ChainModel::kLinear, {}, theta).empty());
}

// Counts of a negative binomial law under the Poisson model: more zeros, more spread.
TEST_F(PredictiveChecksTest, OverdispersedCounts) {
  VectorXd theta(2), both(3);
  theta << 1, 0.3;
  both << 1, 0.3, std::log(1.5);
  ChainRows rows = Predictors(300);
  ChainSpec spec;
  spec.predictors = {"x"};
  const MatrixXd x = DesignOf(spec, rows);
  ExpectUsual(4, [&] {
    rows.outcome = stats::mcmc::DrawPoisson(x, theta, variates_);
    return Check(ChainModel::kPoisson, rows, theta);
  });
  ExpectUsual(4, [&] {
    rows.outcome = stats::mcmc::DrawNegativeBinomial(x, both, variates_);
    return Check(ChainModel::kNegativeBinomial, rows, both);
  });
  const auto checks = Check(ChainModel::kPoisson, rows, theta);
  EXPECT_EQ(checks.at("variance over mean").p_value, 0);
  EXPECT_EQ(checks.at("share of zeros").p_value, 0);
}

// A chance that does not depend on x as the model says.
TEST_F(PredictiveChecksTest, OnesInTheWrongRows) {
  VectorXd theta(2), other(2);
  theta << 0, 2;
  other << 0, 0;
  ChainRows rows = Predictors(400);
  ChainSpec spec;
  spec.predictors = {"x"};
  const MatrixXd x = DesignOf(spec, rows);
  ExpectUsual(2, [&] {
    rows.outcome = stats::mcmc::DrawLogistic(x, theta, variates_);
    return Check(ChainModel::kLogistic, rows, theta);
  });
  rows.outcome = stats::mcmc::DrawLogistic(x, other, variates_);
  const auto checks = Check(ChainModel::kLogistic, rows, theta);
  EXPECT_EQ(
      checks.at("share of ones in the half of the rows with the smaller predicted chance").p_value,
      0);
}

TEST_F(PredictiveChecksTest, SurvivalThatIsLonger) {
  VectorXd theta(3), longer(3);
  theta << 1, 0.5, -0.5;
  longer << 2, 0.5, -0.5;
  ChainRows rows = Predictors(300);
  ChainSpec spec;
  spec.predictors = {"x"};
  const MatrixXd x = DesignOf(spec, rows);
  VectorXd end = VectorXd::Constant(300, 4);
  const auto take = [&](const VectorXd& at) {
    const stats::mcmc::SurvivalRows drawn = stats::mcmc::DrawWeibull(x, at, end, variates_);
    rows.outcome = drawn.time;
    rows.event = drawn.event;
  };
  const auto usual = [&] {
    take(theta);
    return Check(ChainModel::kWeibull, rows, theta);
  };
  ExpectUsual(2, usual);
  // Follow-up that ends at another time for every row: half of the rows have no event.
  for (double& time : end) time = 3 * variates_.Exponential();
  ExpectUsual(2, usual);
  take(longer);
  const auto checks = Check(ChainModel::kWeibull, rows, theta);
  EXPECT_EQ(checks.at("number of events").p_value, 1);
  EXPECT_EQ(checks.at("survival at the middle of the observed times").p_value, 0);
  EXPECT_TRUE(Check(ChainModel::kCox, rows, theta.head(1)).empty());
}

}  // namespace
}  // namespace partita::methods::mcmc::after_the_chain_test
