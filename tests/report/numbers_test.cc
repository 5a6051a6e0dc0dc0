#include "report/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace partita::report::numbers_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(NumbersTest, ThreeDigitsHoweverSmall) {
  EXPECT_EQ(Number3(12.34567), "12.346");
  EXPECT_EQ(Number3(-0.110), "-0.110");
  EXPECT_EQ(Number3(0.0512), "0.0512");
  EXPECT_EQ(Number3(-0.000024), "-2.4e-05");
  EXPECT_EQ(Number3(0), "0");
  EXPECT_EQ(Number3(-0.0), "0");
  EXPECT_EQ(Number3(kNan), "NA");
}

TEST(NumbersTest, ToTheDigitsOfTheStandardError) {
  EXPECT_EQ(NumberAt(12.35, 0.0512), "12.3500");
  EXPECT_EQ(NumberAt(-0.00012, 0.00512), "-0.00012");
  EXPECT_EQ(NumberAt(45678.9, 1234.5), "45679");
  EXPECT_EQ(NumberAt(-1e-9, 0.5), "0.000");  // a zero has no sign
  EXPECT_EQ(NumberAt(1.5e-12, 1e-12), "1.5e-12");
  EXPECT_EQ(NumberAt(0.5, kNan), "0.500");
  EXPECT_EQ(NumberAt(0.5, 0), "0.500");
  EXPECT_EQ(NumberAt(kNan, 0.5), "NA");
}

TEST(NumbersTest, FourDigitsButCountsWhole) {
  EXPECT_EQ(Number4(0.36062), "0.3606");
  EXPECT_EQ(Number4(1234.56), "1235");
  EXPECT_EQ(Number4(12345.678), "12346");
  EXPECT_EQ(Number4(1204332), "1204332");
  EXPECT_EQ(Number4(0.25), "0.25");
  EXPECT_EQ(Number4(1.5e-7), "1.5e-07");
  EXPECT_EQ(Number4(3.5e20), "3.5e+20");
  EXPECT_EQ(Number4(-0.0), "0");
  EXPECT_EQ(Number4(kNan), "NA");
}

}  // namespace
}  // namespace partita::report::numbers_test
