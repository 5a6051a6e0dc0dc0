#include "mpc/fixed_point.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"

namespace partita::mpc::fixed_point_test {
namespace {

Int128 Pow2(int k) { return static_cast<Int128>(1) << k; }

ErrorCode CodeOf(double x, int fraction_bits) {
  try {
    EncodeFixed(x, fraction_bits);
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty());
    return error.code();
  }
  ADD_FAILURE() << "no error for " << x << " at " << fraction_bits;
  return ErrorCode::kInternal;
}

TEST(FixedPoint, RoundsHalfAwayFromZero) {
  EXPECT_TRUE(EncodeFixed(0.0, 40) == 0);
  EXPECT_TRUE(EncodeFixed(-0.0, 40) == 0);
  EXPECT_TRUE(EncodeFixed(0.5, 0) == 1);
  EXPECT_TRUE(EncodeFixed(-0.5, 0) == -1);
  EXPECT_TRUE(EncodeFixed(std::nextafter(0.5, 0.0), 0) == 0);
  EXPECT_TRUE(EncodeFixed(2.5, 0) == 3);
  EXPECT_TRUE(EncodeFixed(-2.5, 0) == -3);
  EXPECT_TRUE(EncodeFixed(1.25, 1) == 3);
  EXPECT_TRUE(EncodeFixed(1.0, 40) == Pow2(40));
  EXPECT_TRUE(EncodeFixed(0.1, 55) == 3602879701896397);  // the double 0.1 is 3602879701896397/2^55
  EXPECT_TRUE(EncodeFixed(0.1, 54) == 1801439850948199);  // a tie: ...198.5
  EXPECT_TRUE(EncodeFixed(-0.1, 54) == -1801439850948199);
}

TEST(FixedPoint, ExactAtBothEndsOfTheRange) {
  EXPECT_TRUE(EncodeFixed(std::ldexp(1.0, -126), 126) == 1);
  EXPECT_TRUE(EncodeFixed(std::ldexp(1.0, -127), 126) == 1);
  EXPECT_TRUE(EncodeFixed(std::nextafter(std::ldexp(1.0, -127), 0.0), 126) == 0);
  EXPECT_TRUE(EncodeFixed(std::numeric_limits<double>::denorm_min(), 126) == 0);
  EXPECT_TRUE(EncodeFixed(-std::numeric_limits<double>::min(), 126) == 0);
  const double just_below_one = std::nextafter(1.0, 0.0);
  EXPECT_TRUE(EncodeFixed(just_below_one, 126) == Pow2(126) - Pow2(73));
  EXPECT_TRUE(EncodeFixed(-just_below_one, 126) == -(Pow2(126) - Pow2(73)));
  EXPECT_TRUE(EncodeFixed(std::ldexp(just_below_one, 126), 0) == Pow2(126) - Pow2(73));
}

TEST(FixedPoint, RefusesWhatDoesNotFit) {
  EXPECT_EQ(CodeOf(1.0, 126), ErrorCode::kBadInput);
  EXPECT_EQ(CodeOf(-1.0, 126), ErrorCode::kBadInput);
  EXPECT_EQ(CodeOf(std::ldexp(1.0, 86), 40), ErrorCode::kBadInput);
  EXPECT_EQ(CodeOf(std::numeric_limits<double>::max(), 0), ErrorCode::kBadInput);
  EXPECT_EQ(CodeOf(std::numeric_limits<double>::quiet_NaN(), 40), ErrorCode::kBadInput);
  EXPECT_EQ(CodeOf(std::numeric_limits<double>::infinity(), 40), ErrorCode::kBadInput);
  EXPECT_EQ(CodeOf(-std::numeric_limits<double>::infinity(), 40), ErrorCode::kBadInput);
  EXPECT_EQ(CodeOf(1.0, -1), ErrorCode::kUsage);
  EXPECT_EQ(CodeOf(1.0, 127), ErrorCode::kUsage);
  EXPECT_THROW(DecodeFixed(1, -1), Error);
  EXPECT_THROW(DecodeFixed(1, 127), Error);
}

TEST(FixedPoint, DecodesToTheNearestDouble) {
  EXPECT_EQ(DecodeFixed(0, 40), 0.0);
  EXPECT_EQ(DecodeFixed(-3, 1), -1.5);
  EXPECT_EQ(DecodeFixed(1, 126), std::ldexp(1.0, -126));
  // 2^53 + 1 is a tie and goes to the even mantissa; one unit more does not.
  EXPECT_EQ(DecodeFixed(Pow2(53) + 1, 0), 9007199254740992.0);
  EXPECT_EQ(DecodeFixed(Pow2(53) + 3, 0), 9007199254740996.0);
  EXPECT_EQ(DecodeFixed(-(Pow2(53) + 1), 0), -9007199254740992.0);
  // Far below the tie, one bit decides.
  EXPECT_EQ(DecodeFixed(Pow2(120) + Pow2(67), 126), std::ldexp(1.0, -6));
  EXPECT_EQ(DecodeFixed(Pow2(120) + Pow2(67) + 1, 126),
            std::ldexp(1.0, -6) * (1 + std::numeric_limits<double>::epsilon()));
  const Int128 lowest = -Pow2(126) - Pow2(126);
  EXPECT_EQ(DecodeFixed(lowest, 0), -std::ldexp(1.0, 127));
}

// Encoding is the rounding of x 2^f: the error is at most half a grid unit, checked in integers
// against the exact long-hand value, and every double on the grid survives the round trip.
TEST(FixedPoint, RandomValuesRoundCorrectly) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 20000; ++trial) {
    const int fraction_bits = static_cast<int>(random() % 127);
    const int exponent = static_cast<int>(random() % 126) - fraction_bits;
    const double x =
        std::ldexp(1.0 + std::ldexp(static_cast<double>(random() >> 12), -52), exponent) *
        ((random() & 1) != 0 ? 1 : -1);
    const Int128 value = EncodeFixed(x, fraction_bits);
    // long double holds 64 bits, so both sides are exact whenever the rounding matters.
    const long double scaled = std::ldexp(static_cast<long double>(x), fraction_bits);
    EXPECT_TRUE(value == static_cast<Int128>(std::round(scaled))) << x << " " << fraction_bits;
    if (exponent + fraction_bits >= 52) {
      EXPECT_EQ(DecodeFixed(value, fraction_bits), x);
    }
  }
}

}  // namespace
}  // namespace partita::mpc::fixed_point_test
