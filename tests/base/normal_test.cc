#include "base/normal.h"

#include <gtest/gtest.h>

namespace partita::normal_test {
namespace {

// R: pnorm(x, lower.tail = FALSE).
TEST(NormalTest, Tails) {
  EXPECT_EQ(NormalTail(0), 0.5);
  EXPECT_DOUBLE_EQ(NormalTail(1.96), 0.024997895148220428);
  EXPECT_DOUBLE_EQ(NormalTail(-1.96), 1 - 0.024997895148220428);
  EXPECT_NEAR(NormalTail(10) / 7.6198530241605261e-24, 1, 3e-14);
  EXPECT_DOUBLE_EQ(NormalTails(-1.96), 2 * NormalTail(1.96));
}

}  // namespace
}  // namespace partita::normal_test
