// Numbers as tables write them: what is short is read without the library's function, and to the same bits.
#include "data/number_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cstdint>
#include <random>
#include <string>

namespace partita::data::number_text_test {
namespace {

// The oracle; `text` is one that it takes.
double Nearest(const std::string& text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  EXPECT_EQ(error, std::errc{}) << text;
  EXPECT_EQ(rest, text.data() + text.size()) << text;
  return value;
}

void ExpectNearest(const std::string& text) {
  const std::optional<double> read = ParseNumber(text, '.');
  ASSERT_TRUE(read) << text;
  EXPECT_EQ(std::bit_cast<uint64_t>(*read), std::bit_cast<uint64_t>(Nearest(text))) << text;
  EXPECT_EQ(ParseNumber("+ " + text, '.'), std::nullopt) << text;
  if (text.front() != '-') {
    EXPECT_EQ(ParseNumber("+" + text, '.'), read) << text;
  }
  EXPECT_EQ(ParseNumber(" \t" + text + " ", '.'), read) << text;
  std::string comma = text;
  for (char& c : comma) c = c == '.' ? ',' : c;
  EXPECT_EQ(ParseNumber(comma, ','), read) << text;
}

TEST(NumberText, EveryPlaceOfThePointAndEveryLengthAreTheNearestDouble) {
  std::mt19937_64 random(7);
  for (size_t digits = 1; digits <= 20; ++digits) {
    for (size_t before = 0; before <= digits; ++before) {
      for (int i = 0; i < 50; ++i) {
        std::string text;
        for (size_t d = 0; d < digits; ++d) {
          if (d == before) text += '.';
          text += static_cast<char>('0' + random() % 10);
        }
        ExpectNearest(text);
        ExpectNearest("-" + text);
      }
    }
  }
}

TEST(NumberText, EdgesAreTheNearestDouble) {
  for (const char* text : {"0",
                           "-0",
                           "0.0",
                           "-0.000",
                           "00000000000001",
                           "000000000000000000001",
                           "1.",
                           "-1.",
                           ".5",
                           "-.5",
                           "999999999999999",
                           "9999999999999999",
                           "9007199254740993",
                           "99999999999999.9",
                           "0.00000000000001",
                           "0.000000000000001",
                           ".000000000000001",
                           "123456789012345.",
                           ".123456789012345",
                           "1e5",
                           "1E-5",
                           "-1.5e+300",
                           "2.2250738585072014e-308",
                           "4.9e-324",
                           "0.1",
                           "0.3",
                           "1.7976931348623157e308"})
    ExpectNearest(text);
}

TEST(NumberText, NothingElseIsANumber) {
  for (const char* text : {"",
                           ".",
                           "-",
                           "-.",
                           "+",
                           "+-1",
                           "-+1",
                           "--1",
                           "1-",
                           "1..2",
                           "1.2.3",
                           "..1",
                           "1,5",
                           "0x10",
                           "inf",
                           "nan",
                           "-inf",
                           "1e",
                           "1 2",
                           "1e400",
                           "123456789012345x",
                           "1'000",
                           "\xC2\xA0"
                           "1"})
    EXPECT_EQ(ParseNumber(text, '.'), std::nullopt) << text;
  for (const char* text : {"1.5", "1,2,3", ",", "1,5.0"})
    EXPECT_EQ(ParseNumber(text, ','), std::nullopt) << text;
}

}  // namespace
}  // namespace partita::data::number_text_test
