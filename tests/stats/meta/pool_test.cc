// Pooling in the clear against R, against published numbers, and worked by hand.
#include "stats/meta/pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/paths.h"

namespace partita::stats::meta::pool_test {
namespace {

using nlohmann::json;

json References() {
  std::ifstream file(FixturePath("references/meta/meta.json"));
  return json::parse(file);
}

Sites SitesOf(const json& table) { return {table["estimates"], table["standard_errors"]}; }

Estimator EstimatorOf(const std::string& name) {
  if (name == "fixed") return Estimator::kFixed;
  return name == "reml" ? Estimator::kReml : Estimator::kDerSimonianLaird;
}

void ExpectNear(double ours, double wanted, double relative) {
  EXPECT_NEAR(ours, wanted, relative * std::max(std::abs(wanted), 1e-3));
}

// REML of the reference comes from the likelihood itself, whose maximum is flat: 1e-7 of tau^2.
TEST(MetaPool, IsRs) {
  const json tables = References();
  size_t analyses = 0;
  for (const auto& [name, table] : tables.items()) {
    const Sites sites = SitesOf(table);
    for (const json& wanted : table["analyses"]) {
      SCOPED_TRACE(name + " " + wanted["estimator"].get<std::string>());
      const bool reml = wanted["estimator"] == "reml", hartung = wanted["hartung_knapp"];
      const double relative = reml ? 1e-6 : 1e-12;
      const Pooled pooled = Pool(sites, EstimatorOf(wanted["estimator"]), hartung);
      const Summary summary = Summarise(pooled, hartung, 0.95);
      ExpectNear(pooled.tau_squared, wanted["tau_squared"], reml ? 1e-5 : 1e-12);
      ExpectNear(pooled.estimate, wanted["estimate"], relative);
      ExpectNear(pooled.standard_error, wanted["standard_error"], relative);
      // A difference of sums that may be far larger than itself.
      EXPECT_NEAR(pooled.q, wanted["q"].get<double>(), 1e-12 * SumsAt(sites, 0).wbb);
      ExpectNear(summary.p_value, wanted["p_value"], 10 * relative);
      ExpectNear(summary.lower, wanted["lower"], relative);
      ExpectNear(summary.upper, wanted["upper"], relative);
      ExpectNear(summary.q_p_value, wanted["q_p_value"], 1e-9);
      ExpectNear(summary.i_squared, wanted["i_squared"], 1e-12);
      ExpectNear(summary.new_lower, wanted["new_lower"], reml ? 1e-5 : 1e-12);
      ExpectNear(summary.new_upper, wanted["new_upper"], reml ? 1e-5 : 1e-12);
      ++analyses;
    }
  }
  EXPECT_EQ(analyses, 25u);
}

// The thirteen trials of BCG, as metafor's manual prints them, to its four digits.
TEST(MetaPool, IsMetafors) {
  const Sites sites = SitesOf(References()["bcg"]);
  const auto expect = [&](Estimator estimator, bool hartung, double estimate, double error,
                          double lower, double upper, double tau_squared) {
    const Pooled pooled = Pool(sites, estimator, hartung);
    const Summary summary = Summarise(pooled, hartung, 0.95);
    EXPECT_NEAR(pooled.estimate, estimate, 5e-5);
    EXPECT_NEAR(pooled.standard_error, error, 5e-5);
    EXPECT_NEAR(summary.lower, lower, 5e-5);
    EXPECT_NEAR(summary.upper, upper, 5e-5);
    EXPECT_NEAR(pooled.tau_squared, tau_squared, 5e-5);
    EXPECT_NEAR(pooled.q, 152.2330, 5e-5);
  };
  expect(Estimator::kFixed, false, -0.4303, 0.0405, -0.5097, -0.3509, 0);
  expect(Estimator::kReml, false, -0.7145, 0.1798, -1.0669, -0.3622, 0.3132);
  expect(Estimator::kReml, true, -0.7145, 0.1808, -1.1084, -0.3206, 0.3132);
  expect(Estimator::kDerSimonianLaird, false, -0.7141, 0.1787, -1.0644, -0.3638, 0.3088);
}

// b = 0, 2 and 4 with errors of 1: w = 1, Q = 8, tau^2 = (8 - 2) / (3 - 1) = 3, I^2 = 6 / 8. All
// weights are equal, so that REML is the variance of b less 1, and Hartung and Knapp's error that of a
// mean.
TEST(MetaPool, IsTheTextbooks) {
  const Sites sites{{0, 2, 4}, {1, 1, 1}};
  const Pooled fixed = Pool(sites, Estimator::kFixed, false);
  EXPECT_DOUBLE_EQ(fixed.estimate, 2);
  EXPECT_DOUBLE_EQ(fixed.standard_error, std::sqrt(1.0 / 3));
  EXPECT_DOUBLE_EQ(fixed.q, 8);
  EXPECT_DOUBLE_EQ(ISquared(fixed.q, 2), 0.75);
  const Pooled laird = Pool(sites, Estimator::kDerSimonianLaird, false);
  EXPECT_DOUBLE_EQ(laird.tau_squared, 3);
  EXPECT_DOUBLE_EQ(laird.standard_error, std::sqrt(4.0 / 3));
  const Pooled reml = Pool(sites, Estimator::kReml, true);
  EXPECT_NEAR(reml.tau_squared, 3, 1e-9);
  EXPECT_NEAR(reml.standard_error, std::sqrt(4.0 / 3), 1e-12);
}

TEST(MetaPool, HasNoVarianceOfEqualSites) {
  const Sites same{{1, 1, 1}, {0.5, 1, 2}};
  for (const Estimator estimator : {Estimator::kDerSimonianLaird, Estimator::kReml}) {
    const Pooled pooled = Pool(same, estimator, false);
    EXPECT_EQ(pooled.tau_squared, 0);
    EXPECT_DOUBLE_EQ(pooled.standard_error, Pool(same, Estimator::kFixed, false).standard_error);
  }
  EXPECT_EQ(ISquared(Pool(same, Estimator::kFixed, false).q, 2), 0);
  EXPECT_EQ(Pool(same, Estimator::kReml, true).standard_error, 0);
}

// The scores are what they say: derivatives of the likelihood by differences, and the root.
TEST(MetaPool, ScoresAreDerivatives) {
  const Sites sites = SitesOf(References()["few"]);
  const auto likelihood = [&](double tau_squared) {
    const WeightSums sums = SumsAt(sites, tau_squared);
    double logs = std::log(sums.w);
    for (const double s : sites.standard_errors) logs += std::log(s * s + tau_squared);
    return -(logs + CochranQ(sums)) / 2;
  };
  for (const double tau_squared : {0.01, 0.1, 1.0}) {
    const double h = 1e-5 * tau_squared;
    const double slope = (likelihood(tau_squared + h) - likelihood(tau_squared - h)) / (2 * h);
    ExpectNear(RemlScore(SumsAt(sites, tau_squared)), 2 * slope, 1e-5);
  }
  const double laird = TauSquared(sites, Estimator::kDerSimonianLaird);
  EXPECT_GT(laird, 0);
  EXPECT_NEAR(DerSimonianLairdScore(SumsAt(sites, 0), 4, laird), 0, 1e-9);
}

}  // namespace
}  // namespace partita::stats::meta::pool_test
