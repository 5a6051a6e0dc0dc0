// What priors say about outcomes, against what follows from them on paper.
#include "methods/mcmc/prior_predictive.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "methods/prepare_study.h"

namespace partita::methods::mcmc::prior_predictive_test {
namespace {

using ::testing::HasSubstr;

constexpr size_t kDraws = 40000;
// 20 comparisons or fewer in this file, each with a false alarm below 5e-8: 5.45 standard errors.
constexpr double kErrors = 5.45;

std::string StudyText(const std::string& analysis) {
  return R"(partita = 1
name = "priors"
[[party]]
name = "north"
roles = ["holder", "receiver"]
rows = ["north"]
[[party]]
name = "south"
roles = ["holder"]
rows = ["south"]
[[rows]]
name = "north"
[[rows]]
name = "south"
[[party]]
name = "helper"
roles = ["dealer"]
[[variable]]
name = "y"
type = "numeric"
lower = -2
upper = 3
[[variable]]
name = "sick"
type = "integer"
lower = 0
upper = 1
[[variable]]
name = "visits"
type = "integer"
lower = 0
upper = 4
[[variable]]
name = "time"
type = "survival"
time = "years"
event = "died"
lower = 0.1
upper = 5
[[variable]]
name = "x"
type = "numeric"
lower = 10
upper = 30
[[variable]]
name = "arm"
type = "factor"
levels = ["a", "b", "c"]
reference = "b"
[[derived]]
name = "z"
from = "x"
transform = "scale"
centre = 20
scale = 10
[design]
site = "ignore"
missing = "refuse"
[engine]
name = "dealer"
[[analysis]]
method = "mcmc"
protocol = "decisions"
release = ["decisions"]
)" + analysis;
}

PriorPredictive Simulate(const std::string& analysis, uint64_t seed = 1) {
  return SimulatePriors(ParseStudyFile(StudyText(analysis), "study.toml"), {kDraws, seed});
}

double Normal(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

void ExpectShare(double share, double expected) {
  const double error = std::sqrt(expected * (1 - expected) / kDraws);
  EXPECT_NEAR(share, expected, kErrors * error);
}

// Standard error of a quantile: sqrt(p (1 - p) / n) / density.
void ExpectNormalQuantiles(const Quantiles& quantiles, double mean, double sd) {
  const double density = std::exp(-1.959964 * 1.959964 / 2) / std::sqrt(2 * M_PI);
  const double edge = kErrors * sd * std::sqrt(0.025 * 0.975 / kDraws) / density;
  EXPECT_NEAR(quantiles.lower, mean - 1.959964 * sd, edge);
  EXPECT_NEAR(quantiles.upper, mean + 1.959964 * sd, edge);
  EXPECT_NEAR(quantiles.median, mean,
              kErrors * sd * std::sqrt(0.25 / kDraws) * std::sqrt(2 * M_PI));
}

// y = b0 + b1 z + s e with normal priors: normal given z, which is even on [-1, 1].
TEST(PriorPredictiveTest, LinearModelsAsOnPaper) {
  const PriorPredictive prior = Simulate(
      "model = \"linear\"\noutcome = \"y\"\npredictors = [\"z\"]\n[analysis.priors]\nintercept = "
      "\"normal(1, 1)\"\nz = \"normal(0, 2)\"\nlog_sigma = \"normal(-20, 0.001)\"\n");
  EXPECT_EQ(prior.expected, "mean");
  EXPECT_EQ(prior.lower, -2);
  EXPECT_EQ(prior.upper, 3);
  ASSERT_EQ(prior.reference_rows.size(), 3u);
  EXPECT_EQ(prior.reference_rows[0].row, "every variable in the middle");
  EXPECT_EQ(prior.reference_rows[2].row, "x = 30");
  ExpectNormalQuantiles(prior.reference_rows[0].value, 1, 1);
  ExpectNormalQuantiles(prior.reference_rows[2].value, 1, std::sqrt(5.0));
  ExpectShare(prior.reference_rows[0].outside, Normal(-3) + Normal(-2));
  double below = 0, above = 0;
  constexpr int kSteps = 2000;
  for (int i = 0; i < kSteps; ++i) {
    const double z = -1 + 2 * (i + 0.5) / kSteps, sd = std::sqrt(1 + 4 * z * z);
    below += Normal(-3 / sd) / kSteps;
    above += Normal(-2 / sd) / kSteps;
  }
  ExpectShare(prior.share_below, below);
  ExpectShare(prior.share_above, above);
  EXPECT_FALSE(prior.event_share);
}

// A factor has a row for each level but its reference; chances follow the logistic function.
TEST(PriorPredictiveTest, LogisticModelsAndFactors) {
  const PriorPredictive prior = Simulate(
      "model = \"logistic\"\noutcome = \"sick\"\npredictors = [\"arm.a\", \"arm.c\"]\n"
      "[analysis.priors]\nintercept = \"normal(0, 10)\"\n\"arm.a\" = \"normal(0, "
      "0.001)\"\n\"arm.c\" = "
      "\"normal(60, 0.001)\"\n");
  ASSERT_EQ(prior.reference_rows.size(), 3u);
  EXPECT_EQ(prior.reference_rows[1].row, "arm = a");
  EXPECT_EQ(prior.reference_rows[2].row, "arm = c");
  EXPECT_GT(prior.reference_rows[2].value.lower, 0.99);
  // In two arms of three the logit is normal(0, 10), in the third normal(60, 10).
  const double extreme = std::log(99.0) / 10;
  ExpectShare(*prior.extreme_share,
              2.0 / 3 * 2 * Normal(-extreme) + 1.0 / 3 * Normal((60 - std::log(99.0)) / 10));
  ExpectShare(*prior.event_share, 2.0 / 3 * 0.5 + 1.0 / 3);
}

TEST(PriorPredictiveTest, CountsAndTimes) {
  const PriorPredictive counts = Simulate(
      "model = \"poisson\"\noutcome = \"visits\"\npredictors = []\n[analysis.priors]\nintercept = "
      "\"normal(1, 0.00001)\"\n");
  // P(Poisson(e) > 4).
  const double m = std::exp(1.0);
  ExpectShare(counts.share_above,
              1 - std::exp(-m) * (1 + m + m * m / 2 + m * m * m / 6 + m * m * m * m / 24));
  EXPECT_EQ(counts.share_below, 0);
  const PriorPredictive times = Simulate(
      "model = \"weibull\"\noutcome = \"time\"\npredictors = []\n[analysis.priors]\nintercept = "
      "\"normal(1, 0.00001)\"\nlog_sigma = \"normal(0, 0.00001)\"\n");
  EXPECT_EQ(times.expected, "median time");
  EXPECT_NEAR(times.reference_rows[0].value.median, m * std::log(2.0), 1e-3);
  // Exponential with mean e: censored at 5.
  ExpectShare(*times.event_share, 1 - std::exp(-5 / m));
  ExpectShare(times.share_below, 1 - std::exp(-0.1 / m));
}

// Priors whose draws leave the range of doubles give numbers all the same.
TEST(PriorPredictiveTest, WildPriorsEnd) {
  // The size is so large that counts are Poisson's: P(count > 4) over the law of the intercept.
  const PriorPredictive wide = Simulate(
      "model = \"negative-binomial\"\noutcome = \"visits\"\npredictors = []\n"
      "[analysis.priors]\nintercept = \"normal(0, 1000)\"\nlog_size = \"normal(1000, 1)\"\n");
  double above = Normal(-0.01);  // intercepts above 10
  constexpr int kSteps = 2000;
  for (int i = 0; i < kSteps; ++i) {
    const double low = -10 + 20.0 * i / kSteps, high = low + 20.0 / kSteps;
    const double m = std::exp((low + high) / 2);
    const double more = 1 - std::exp(-m) * (1 + m + m * m / 2 + m * m * m / 6 + m * m * m * m / 24);
    above += (Normal(high / 1000) - Normal(low / 1000)) * more;
  }
  ExpectShare(wide.share_above, above);
  const PriorPredictive wild = Simulate(
      "model = \"negative-binomial\"\noutcome = \"visits\"\npredictors = [\"x\"]\n"
      "[analysis.priors]\ncoefficients = \"cauchy(0, 1000)\"\n");
  EXPECT_EQ(wild.share_below, 0);
  EXPECT_GE(wild.outcomes.upper, wild.outcomes.median);
}

TEST(PriorPredictiveTest, WhatHasNoOutcomesIsRefused) {
  const auto message = [](const std::string& analysis) {
    try {
      Simulate(analysis);
    } catch (const Error& error) {
      return error.message() + " | " + error.hint();
    }
    return std::string("accepted");
  };
  EXPECT_THAT(message("model = \"cox\"\noutcome = \"time\"\npredictors = [\"z\"]\n"),
              HasSubstr("model = \"weibull\""));
  EXPECT_THAT(message("model = \"linear\"\noutcome = \"y\"\npredictors = [\"z\"]\n"
                      "[analysis.priors]\nz = \"flat\"\n"),
              HasSubstr("the prior of z is flat"));
  // A key with a dot in it needs quotes.
  EXPECT_THAT(message("model = \"linear\"\noutcome = \"y\"\npredictors = [\"arm.a\"]\n"
                      "[analysis.priors]\n\"arm.a\" = \"flat\"\n"),
              HasSubstr("for example: \"arm.a\" = \"normal(0, 2.5)\""));
  EXPECT_THROW(SimulatePriors(ParseStudyFile(StudyText("model = \"linear\"\noutcome = \"y\"\n"
                                                       "predictors = [\"z\"]\n"),
                                             "study.toml"),
                              {99, 1}),
               Error);
}

}  // namespace
}  // namespace partita::methods::mcmc::prior_predictive_test
