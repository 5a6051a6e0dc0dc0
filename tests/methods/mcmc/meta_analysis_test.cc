// Two-stage pooling on shares against the same in the clear, and against numbers worked by hand.
#include "methods/mcmc/meta_analysis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"
#include "tests/methods/mcmc/chain_parties.h"

namespace partita::methods::mcmc::meta_analysis_test {
namespace {

using mpc::Engine;

// b = 0, 2 and 4 with errors of 1: w = 1, Q = 8, tau^2 = (8 - 2) / (3 - 1) = 3, I^2 = 6 / 8.
TEST(MetaAnalysis, IsTheTextbooks) {
  const PooledEstimate pooled = PoolInTheClear({0, 2, 4}, {1, 1, 1});
  EXPECT_DOUBLE_EQ(pooled.fixed, 2);
  EXPECT_DOUBLE_EQ(pooled.fixed_error, std::sqrt(1.0 / 3));
  EXPECT_DOUBLE_EQ(pooled.q, 8);
  EXPECT_DOUBLE_EQ(pooled.tau_squared, 3);
  EXPECT_DOUBLE_EQ(pooled.i_squared, 0.75);
  EXPECT_DOUBLE_EQ(pooled.random, 2);
  EXPECT_DOUBLE_EQ(pooled.random_error, std::sqrt(4.0 / 3));
  const PooledEstimate same = PoolInTheClear({1, 1, 1}, {0.5, 1, 2});
  EXPECT_EQ(same.tau_squared, 0);
  EXPECT_EQ(same.i_squared, 0);
  EXPECT_DOUBLE_EQ(same.random_error, same.fixed_error);
}

// Rounding: a sum of m numbers errs by m 2^-41; weights here are between 1e-4 and 1e4, estimates
// within 3, so results agree to 1e-7.
TEST(MetaAnalysis, OnSharesIsThatInTheClear) {
  std::mt19937_64 random(8);
  std::normal_distribution<double> normal;
  for (const EngineCase& engine_case :
       {EngineCase{"dealer", 3}, EngineCase{"replicated", 3}, EngineCase{"shamir", 7}}) {
    constexpr size_t kCoefficients = 4;
    std::vector<SiteEstimates> sites(engine_case.parties);
    for (SiteEstimates& site : sites) {
      for (size_t k = 0; k < kCoefficients; ++k) {
        site.estimate.push_back(0.3 * static_cast<double>(k) * normal(random));
        site.standard_error.push_back(std::exp(normal(random)));
      }
    }
    mpc::testing::RunAndComparePlan(
        OptionsFor(engine_case, MetaReleasesOf(kCoefficients)), [&](Engine& engine, size_t) {
          const SiteEstimates own = engine.self() ? sites[*engine.self()] : SiteEstimates{};
          const auto pooled = PoolEstimates(engine, kCoefficients, own);
          if (!engine.self()) return;
          ASSERT_EQ(pooled.size(), kCoefficients);
          for (size_t k = 0; k < kCoefficients; ++k) {
            std::vector<double> estimates, errors;
            for (const SiteEstimates& site : sites) {
              estimates.push_back(site.estimate[k]);
              errors.push_back(site.standard_error[k]);
            }
            const PooledEstimate clear = PoolInTheClear(estimates, errors);
            EXPECT_NEAR(pooled[k].fixed, clear.fixed, 1e-7);
            EXPECT_NEAR(pooled[k].q, clear.q, 1e-7);
            EXPECT_NEAR(pooled[k].tau_squared, clear.tau_squared, 1e-7);
            EXPECT_NEAR(pooled[k].i_squared, clear.i_squared, 1e-7);
            EXPECT_NEAR(pooled[k].random, clear.random, 1e-7);
            EXPECT_NEAR(pooled[k].random_error, clear.random_error, 1e-7);
          }
        });
  }
}

TEST(MetaAnalysis, BadEstimatesAreTheirOwnersBusiness) {
  for (const double broken : {0.0, -1.0, std::nan(""), 1e-9}) {
    const auto run = mpc::testing::RunAll(
        OptionsFor({"replicated", 3}, MetaReleasesOf(1)), [&](Engine& engine, size_t process) {
          PoolEstimates(engine, 1, {{0.1}, {process == 1 ? broken : 0.5}});
        });
    ASSERT_TRUE(run.errors[1]);
    EXPECT_EQ(CodeOf(run.errors[1]), ErrorCode::kBadData);
    EXPECT_NE(CodeOf(run.errors[0]), ErrorCode::kBadData);
  }
  const auto two = mpc::testing::RunAll(OptionsFor({"dealer", 2}, MetaReleasesOf(1)),
                                        [](Engine& engine, size_t) {
                                          PoolEstimates(engine, 1, {{0.1}, {0.5}});
                                        });
  for (const auto& error : two.errors) EXPECT_EQ(CodeOf(error), ErrorCode::kBadInput);
}

}  // namespace
}  // namespace partita::methods::mcmc::meta_analysis_test
