#include "stats/quantile.h"

#include <gtest/gtest.h>

namespace partita::stats::quantile_test {
namespace {

TEST(QuantileTest, InterpolatesBetweenOrderStatistics) {
  EXPECT_EQ(Quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(Quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(Quantile({1, 5}, 0.25), 2);
  EXPECT_EQ(Quantile({1, 5}, 0), 1);
  EXPECT_EQ(Quantile({1, 5}, 1), 5);
  EXPECT_EQ(Quantile({7}, 0.3), 7);
  // R: quantile(c(1, 4, 9, 16, 25), 0.35)
  EXPECT_DOUBLE_EQ(Quantile({1, 4, 9, 16, 25}, 0.35), 6);
  EXPECT_THROW(Quantile({}, 0.5), Error);
}

}  // namespace
}  // namespace partita::stats::quantile_test
