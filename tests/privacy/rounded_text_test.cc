// Printed bounds against the doubles that they stand for, both as exact rational numbers.
#include "privacy/rounded_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace partita::privacy::rounded_text_test {
namespace {

using boost::multiprecision::cpp_int;
using boost::multiprecision::cpp_rational;

cpp_rational PowerOf10(int exponent) {
  const cpp_int power = boost::multiprecision::pow(cpp_int(10), std::abs(exponent));
  return exponent < 0 ? cpp_rational(1, power) : cpp_rational(power);
}

// A decimal as the number that it is; `unit` becomes that of its last printed digit.
cpp_rational ValueOf(const std::string& text, cpp_rational& unit) {
  const size_t e = text.find('e');
  std::string digits = text.substr(0, e);
  int exponent = e == std::string::npos ? 0 : std::stoi(text.substr(e + 1));
  const bool negative = digits.starts_with('-');
  if (negative) digits.erase(0, 1);
  const size_t point = digits.find('.');
  if (point != std::string::npos) {
    exponent -= static_cast<int>(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  unit = PowerOf10(exponent);
  return (negative ? -1 : 1) * cpp_rational(cpp_int(digits)) * unit;
}

cpp_rational ValueOf(const std::string& text) {
  cpp_rational unit;
  return ValueOf(text, unit);
}

cpp_rational ExactOf(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const cpp_int whole(static_cast<int64_t>(std::ldexp(fraction, 53)));
  const cpp_int power = boost::multiprecision::pow(cpp_int(2), std::abs(exponent - 53));
  return exponent < 53 ? cpp_rational(whole, power) : cpp_rational(whole * power);
}

// The smallest step between numbers of so many digits around the value.
cpp_rational StepAt(double value, int digits) {
  cpp_rational magnitude = abs(ExactOf(value));
  int exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
  while (magnitude < PowerOf10(exponent)) --exponent;
  while (magnitude >= PowerOf10(exponent + 1)) ++exponent;
  return PowerOf10(exponent - digits + 1);
}

// Any double: all exponents alike, and decimals of few digits with their neighbours, where rounding
// to nearest and back would hide which side the double lies on.
rc::Gen<double> AnyPositive() {
  const auto bits = rc::gen::map(rc::gen::inRange<uint64_t>(1, uint64_t{0x7ff} << 52),
                                 [](uint64_t word) { return std::bit_cast<double>(word); });
  const auto decimal = rc::gen::apply(
      [](int mantissa, int exponent, int steps) {
        double value = std::stod(std::to_string(mantissa) + "e" + std::to_string(exponent));
        for (int i = 0; i < std::abs(steps); ++i) value = std::nextafter(value, steps * HUGE_VAL);
        return value;
      },
      rc::gen::inRange(1, 100000), rc::gen::inRange(-30, 20), rc::gen::inRange(-2, 3));
  return rc::gen::oneOf(bits, decimal);
}

TEST(RoundedText, LiesOnTheSafeSideByLessThanOneUnit) {
  EXPECT_TRUE(rc::check([] {
    const double magnitude = *AnyPositive();
    const double value = *rc::gen::arbitrary<bool>() ? magnitude : -magnitude;
    const int digits = *rc::gen::inRange(1, 16);
    const cpp_rational exact = ExactOf(value), step = StepAt(value, digits);
    const cpp_rational up = ValueOf(RoundedText(value, digits, true));
    const cpp_rational down = ValueOf(RoundedText(value, digits, false));
    RC_ASSERT(up >= exact);
    RC_ASSERT(up - exact < step);
    RC_ASSERT(down <= exact);
    RC_ASSERT(exact - down < step);
  }));
}

TEST(RoundedText, AtTheEdges) {
  EXPECT_EQ(RoundedText(0, 4, true), "0");
  EXPECT_EQ(RoundedText(HUGE_VAL, 4, true), "infinite");
  // The doubles nearest to 0.1 and 0.3 lie above and below them.
  EXPECT_EQ(RoundedText(0.1, 4, true), "0.1001");
  EXPECT_EQ(RoundedText(0.1, 4, false), "0.1");
  EXPECT_EQ(RoundedText(0.3, 4, true), "0.3");
  EXPECT_EQ(RoundedText(0.3, 4, false), "0.2999");
  EXPECT_EQ(RoundedText(9.9999, 4, true), "10");
  EXPECT_EQ(RoundedText(std::numeric_limits<double>::max(), 4, true), "1.798e308");
  EXPECT_EQ(RoundedText(std::numeric_limits<double>::denorm_min(), 4, true), "4.941e-324");
  EXPECT_THROW(RoundedText(std::nan(""), 4, true), Error);
}

TEST(RoundedText, PercentagesToo) {
  EXPECT_TRUE(rc::check([] {
    const double share = static_cast<double>(*rc::gen::inRange<uint64_t>(0, uint64_t{1} << 53)) *
                         std::ldexp(1.0, -53 - *rc::gen::inRange(0, 12));
    const int decimals = *rc::gen::inRange(0, 5);
    const auto percent = [&](bool up) {
      const std::string text = PercentText(share, decimals, up);
      return ValueOf(text.substr(0, text.size() - 2)) / 100;
    };
    const cpp_rational exact = ExactOf(share), step = PowerOf10(-decimals - 2);
    RC_ASSERT(percent(true) >= exact);
    RC_ASSERT(percent(true) - exact < step);
    RC_ASSERT(percent(false) <= exact);
    RC_ASSERT(exact - percent(false) < step);
    // What is left of 1, without the rounding of the subtraction.
    RC_ASSERT(ExactOf(OneMinus(share)) >= 1 - exact);
    RC_ASSERT(ExactOf(OneMinus(share)) - (1 - exact) <= ExactOf(0x1p-53));
  }));
  EXPECT_EQ(PercentText(1, 1, true), "100.0 %");
  EXPECT_EQ(PercentText(0, 1, true), "0.0 %");
  EXPECT_EQ(PercentText(0.0501, 1, true), "5.1 %");
  EXPECT_EQ(PercentText(0.05, 0, false), "5 %");  // the double lies above
  EXPECT_EQ(PercentText(0.99991, 1, true), "100.0 %");
}

TEST(RoundedText, PartsOfAWhole) {
  EXPECT_TRUE(rc::check([] {
    const auto whole = *rc::gen::inRange<uint64_t>(1, uint64_t{1} << 62);
    const auto part = *rc::gen::inRange<uint64_t>(0, whole);
    const auto percent = [&](bool up) {
      const std::string text = PartText(part, whole, up);
      return ValueOf(text.substr(0, text.size() - 2)) / 100;
    };
    const cpp_rational exact(part, whole), step(1, 10000);
    RC_ASSERT(percent(true) >= exact);
    RC_ASSERT(percent(true) - exact < step);
    RC_ASSERT(percent(false) <= exact);
    RC_ASSERT(exact - percent(false) < step);
  }));
}

// What somebody wrote with few digits is shown as written; anything else on the safe side.
TEST(RoundedText, GivenNumbersAsWritten) {
  EXPECT_EQ(GivenText(0.1, 6, true), "0.1");
  EXPECT_EQ(GivenText(0.3, 6, false), "0.3");
  EXPECT_EQ(GivenText(60000, 6, true), "60000");
  EXPECT_EQ(GivenText(256.0 / 60000, 6, true), "0.00426667");
  EXPECT_EQ(GivenText(256.0 / 60000, 6, false), "0.00426666");
  EXPECT_TRUE(rc::check([] {
    const double value = *AnyPositive();
    const int digits = *rc::gen::inRange(1, 16);
    const std::string up = GivenText(value, digits, true);
    RC_ASSERT(std::stold(up) >= 0);
    RC_ASSERT(std::strtod(up.c_str(), nullptr) == value || ValueOf(up) > ExactOf(value));
  }));
}

// A printed delta is not below the one that was accounted, whether it was written so or is a sum of
// shares of what was written, and not above what was written.
TEST(RoundedText, DeltasCoverWhatWasAccounted) {
  EXPECT_TRUE(rc::check([] {
    const int mantissa = *rc::gen::inRange(1, 1000000), exponent = *rc::gen::inRange(-24, -6);
    const std::string written = std::to_string(mantissa) + "e" + std::to_string(exponent);
    const double delta = std::stod(written);
    RC_ASSERT(ValueOf(DeltaText(delta)) == ValueOf(written));
    RC_ASSERT(ValueOf(DeltaText(delta)) >= ExactOf(AccountedDelta(delta)));
    const double share = *rc::gen::inRange(1, 100) / 100.0;
    const double first = delta * share, second = delta * (1 - share);
    RC_ASSERT(ValueOf(DeltaText(first + second)) >=
              ExactOf(AccountedDelta(first)) + ExactOf(AccountedDelta(second)));
    RC_ASSERT(ValueOf(DeltaText(first + second)) == ValueOf(written));
  }));
  EXPECT_EQ(DeltaText(0), "0");
  EXPECT_EQ(DeltaText(1e-5), "1e-05");
  EXPECT_EQ(DeltaText(1.0 / 30162), "3.31544e-05");  // 3.315430011...
}

}  // namespace
}  // namespace partita::privacy::rounded_text_test
