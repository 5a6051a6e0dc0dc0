// Two-stage pooling against numbers worked by hand.
#include "methods/mcmc/meta_analysis.h"

#include <gtest/gtest.h>

#include <cmath>

namespace partita::methods::mcmc::meta_analysis_test {
namespace {

// b = 0, 2 and 4 with errors of 1: w = 1, Q = 8, tau^2 = (8 - 2) / (3 - 1) = 3, I^2 = 6 / 8.
TEST(MetaAnalysis, IsTheTextbooks) {
  const PooledEstimate pooled = PoolEstimates({0, 2, 4}, {1, 1, 1});
  EXPECT_DOUBLE_EQ(pooled.fixed, 2);
  EXPECT_DOUBLE_EQ(pooled.fixed_error, std::sqrt(1.0 / 3));
  EXPECT_DOUBLE_EQ(pooled.q, 8);
  EXPECT_DOUBLE_EQ(pooled.tau_squared, 3);
  EXPECT_DOUBLE_EQ(pooled.i_squared, 0.75);
  EXPECT_DOUBLE_EQ(pooled.random, 2);
  EXPECT_DOUBLE_EQ(pooled.random_error, std::sqrt(4.0 / 3));
  const PooledEstimate same = PoolEstimates({1, 1, 1}, {0.5, 1, 2});
  EXPECT_EQ(same.tau_squared, 0);
  EXPECT_EQ(same.i_squared, 0);
  EXPECT_DOUBLE_EQ(same.random_error, same.fixed_error);
}

}  // namespace
}  // namespace partita::methods::mcmc::meta_analysis_test
