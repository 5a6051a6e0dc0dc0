#include "base/stray_character.h"

#include <gtest/gtest.h>

#include <string>

namespace partita::stray_character_test {
namespace {

// "line:column", or "none".
std::string Stray(std::string_view toml) {
  const auto found = FindStrayCharacter(toml);
  return found ? std::to_string(found->line) + ":" + std::to_string(found->column) : "none";
}

TEST(TomlTextTest, StringsAndCommentsMayHoldAnything) {
  EXPECT_EQ(Stray(""), "none");
  EXPECT_EQ(Stray("a = 1\n"), "none");
  EXPECT_EQ(Stray("\xEF\xBB\xBF"
                  "a = 1"),
            "none");
  EXPECT_EQ(Stray("a = \"\u00e4 \\\" \u00e4\" # \u00e4\nb = '\u00e4\\'\n"), "none");
  EXPECT_EQ(Stray("a = \"\"\"\u00e4\n\"\u00e4\"\" \\\"\"\" \u00e4\"\"\"\nb = 1"), "none");
  EXPECT_EQ(Stray("a = \"\"\"\u00e4\"\"\"\"\"\nb = '''\u00e4''\\'''\nc = ''"), "none");
  EXPECT_EQ(Stray("# \u00e4"), "none");
  EXPECT_EQ(Stray("a = \"\u00e4"), "none");  // not closed: toml++ says so
  EXPECT_EQ(Stray("a = \"\"\"\u00e4\""), "none");
  EXPECT_EQ(Stray("a = \"\\"), "none");
}

TEST(TomlTextTest, OthersAreFoundWithTheirPlace) {
  EXPECT_EQ(Stray("\u00e4 = 1"), "1:1");
  EXPECT_EQ(Stray("a = 1\nb = \u201cx\u201d\n"), "2:5");
  EXPECT_EQ(Stray("a = \"\u00e4\u00e4\" \u00e4"), "1:10");
  EXPECT_EQ(Stray("a = 1 \xef\xba\xbf"), "1:7");
  EXPECT_EQ(Stray("a = 1\n\xEF\xBB\xBF"
                  "b = 1"),
            "2:1");
  EXPECT_EQ(Stray("a = '\\' \u00e4"), "1:9");  // no escapes between single quotes
  EXPECT_EQ(Stray("a = \"\"\"x\"\"\"\"\"\u00e4"), "1:14");
  EXPECT_EQ(Stray("a = \"\" \u00e4"), "1:8");
  EXPECT_EQ(Stray("a = \"x\n\u00e4"), "2:1");
}

}  // namespace
}  // namespace partita::stray_character_test
