#include "base/date.h"

#include <gtest/gtest.h>

namespace partita::date_test {
namespace {

TEST(DateTest, CountsDaysAndBack) {
  EXPECT_EQ(ParseDate("1970-01-01"), 0);
  EXPECT_EQ(ParseDate("1969-12-31"), -1);
  EXPECT_EQ(ParseDate("2000-02-29"), 11016);
  for (const char* date : {"0001-01-01", "1900-02-28", "2024-02-29", "9999-12-31"})
    EXPECT_EQ(FormatDate(ParseDate(date).value()), date);
}

TEST(DateTest, RefusesWhatIsNoDate) {
  for (const char* text : {"", "1900-02-29", "2020-13-01", "2020-00-10", "2020-04-31", "0000-01-01",
                           "2020-1-01", "2020/01/01", " 020-01-01", "2020-01-01 ", "20200101"})
    EXPECT_FALSE(ParseDate(text)) << text;
}

TEST(DateTest, DigitsOnly) {
  EXPECT_EQ(ParseDigits("0042"), 42U);
  EXPECT_EQ(ParseDigits("999999999"), 999'999'999U);
  for (const char* text : {"-1", "+1", "1 ", "a", "1.0"}) EXPECT_FALSE(ParseDigits(text)) << text;
}

}  // namespace
}  // namespace partita::date_test
