#include "privacy/release_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace partita::privacy::release_rule_test {
namespace {

// Tables of so many rows over so many patterns, one after the other.
uint64_t CountTables(uint64_t rows, int patterns) {
  if (patterns == 1) return 1;
  uint64_t tables = 0;
  for (uint64_t first = 0; first <= rows; ++first)
    tables += CountTables(rows - first, patterns - 1);
  return tables;
}

TEST(ReleaseRule, TableBitsCountTables) {
  for (int patterns = 1; patterns <= 6; ++patterns) {
    for (uint64_t rows = 0; rows <= 9; ++rows) {
      EXPECT_NEAR(TableBits(rows, std::log2(patterns)),
                  std::log2(static_cast<double>(CountTables(rows, patterns))), 1e-9)
          << rows << " " << patterns;
    }
  }
  // C(115, 15) = 2.35...e18 by hand: log2 is 61 and a bit.
  EXPECT_EQ(WholeBitsDown(TableBits(100, 4)), 61u);
}

// However they are computed: by terms, by gamma functions, or with more patterns than a double
// counts, where every row is alone with its pattern.
TEST(ReleaseRule, TableBitsAgreeWhereTheirWaysMeet) {
  const double terms = TableBits(65536, 30), gammas = TableBits(65537, 30);
  EXPECT_GT(gammas, terms);
  EXPECT_LT(gammas - terms, 30);
  const double counted = TableBits(1000, 51.999), alone = TableBits(1000, 52);
  EXPECT_NEAR(alone - counted, 1000 * 0.001, 1e-6);
  EXPECT_LE(alone, 1000 * 52.0);
  EXPECT_EQ(TableBits(0, 20), 0);
  EXPECT_EQ(TableBits(1000000, 0), 0);
}

TEST(ReleaseRule, UnknownPartsAddUp) {
  EXPECT_DOUBLE_EQ(TableBits({{100, 4}, {50, 2}}), TableBits(100, 4) + TableBits(50, 2));
}

TEST(ReleaseRule, BitsOfWhatOpens) {
  EXPECT_DOUBLE_EQ(CountBits(1024), 7);
  EXPECT_DOUBLE_EQ(CountBits(1024, 64), 13);
  EXPECT_DOUBLE_EQ(CountBits(uint64_t{1} << 20, std::exp2(50)), kDoubleBits);
  EXPECT_DOUBLE_EQ(NumberBits(11, 6), 66);
  EXPECT_DOUBLE_EQ(NumberBits(11, 0), 11 * 52);
}

TEST(ReleaseRule, RoundsToTheSafeSide) {
  EXPECT_EQ(WholeBitsUp(66), 66u);
  EXPECT_EQ(WholeBitsUp(66.01), 67u);
  EXPECT_EQ(WholeBitsDown(61.99), 61u);
  EXPECT_TRUE(Passes(30, 60));
  EXPECT_FALSE(Passes(31, 61));
  // The least difference of two libraries' logarithms does not change a plan.
  EXPECT_EQ(WholeBitsUp(66 + 1e-12), 66u);
  EXPECT_EQ(WholeBitsDown(66 - 1e-12), 66u);
}

// e = floor(log2(g SE)), and what opens is within half a step.
TEST(ReleaseRule, GridFollowsTheStandardError) {
  EXPECT_EQ(GridExponent(1, 6), -6);
  EXPECT_EQ(GridExponent(1.99, 6), -6);
  EXPECT_EQ(GridExponent(0.99, 6), -7);
  EXPECT_EQ(GridExponent(std::exp2(-300), 4), -304);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> numbers(-5, 5), errors(1e-3, 3);
  for (int i = 0; i < 1000; ++i) {
    const double value = numbers(random), error = errors(random);
    const int exponent = GridExponent(error, 6);
    const double step = std::ldexp(1.0, exponent), opened = OnGrid(value, exponent);
    EXPECT_LE(step, error / 64);
    EXPECT_GT(2 * step, error / 64);
    EXPECT_LE(std::abs(opened - value), step / 2);
    EXPECT_EQ(std::remainder(opened, step), 0);
  }
}

}  // namespace
}  // namespace partita::privacy::release_rule_test
