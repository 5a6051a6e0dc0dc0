#include "base/text_table.h"

#include <gtest/gtest.h>

#include <limits>

namespace partita::text_table_test {
namespace {

TEST(TextTableTest, AlignsColumns) {
  const TextTable table{{"name", "count"}, {1}, {{"a", "1"}, {"\xC3\xA9t\xC3\xA9", "1234567"}}};
  EXPECT_EQ(RenderTable(table, 2),
            "  name    count\n"
            "  a           1\n"
            "  \xC3\xA9t\xC3\xA9   1234567\n");
}

TEST(TextTableTest, NoLineEndsInBlanks) {
  EXPECT_EQ(RenderTable({{"a", "b"}, {}, {{"long", ""}}}, 0), "a     b\nlong\n");
}

TEST(WrapTextTest, BreaksAtBlanks) {
  const std::string word(30, 'x');
  EXPECT_EQ(WrapText(word + " " + word + "  " + word + " " + word, 2),
            "  " + word + " " + word + " " + word + "\n    " + word + "\n");
  EXPECT_EQ(WrapText("", 2), "\n");
  EXPECT_EQ(WrapText("a", 0), "a\n");
  // Exactly as wide as a line, and one more.
  EXPECT_EQ(WrapText(std::string(97, 'x') + " yy", 0), std::string(97, 'x') + " yy\n");
  EXPECT_EQ(WrapText(std::string(98, 'x') + " yy", 0), std::string(98, 'x') + "\n  yy\n");
  // A word that fits nowhere stands alone.
  EXPECT_EQ(WrapText("a " + std::string(120, 'x') + " b", 0),
            "a\n  " + std::string(120, 'x') + "\n  b\n");
}

TEST(FormatTest, Counts) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCount(std::numeric_limits<uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(FormatTest, Bytes) {
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1000), "1.0 kB");
  EXPECT_EQ(FormatBytes(999'949), "999.9 kB");
  EXPECT_EQ(FormatBytes(999'950), "1.0 MB");
  EXPECT_EQ(FormatBytes(1'234'567'890), "1.2 GB");
  EXPECT_EQ(FormatBytes(std::numeric_limits<uint64_t>::max()), "18.4 EB");
}

TEST(FormatTest, Seconds) {
  EXPECT_EQ(FormatSeconds(0.00034), "0.3 ms");
  EXPECT_EQ(FormatSeconds(0.9996), "1.00 s");
  EXPECT_EQ(FormatSeconds(1.25), "1.25 s");
  EXPECT_EQ(FormatSeconds(59.999), "1 min 0 s");
  EXPECT_EQ(FormatSeconds(200.4), "3 min 20 s");
  EXPECT_EQ(FormatSeconds(7500), "2 h 5 min");
  EXPECT_EQ(FormatSeconds(1e12), "more than 30 years");
  EXPECT_EQ(FormatSeconds(std::numeric_limits<double>::quiet_NaN()), "unknown");
  EXPECT_EQ(FormatSeconds(-1), "unknown");
}

TEST(TextTableTest, CutTextKeepsWholeCharacters) {
  EXPECT_EQ(CutText("short", 5), "short");
  EXPECT_EQ(CutText("longer", 5), "long\u2026");
  EXPECT_EQ(CutText("\u00e4\u00f6\u00fc\u00df", 3), "\u00e4\u00f6\u2026");
  EXPECT_EQ(TextWidth(CutText(std::string(200, 'x'), 62)), 62U);
  EXPECT_EQ(CutText("", 3), "");
}

}  // namespace
}  // namespace partita::text_table_test
