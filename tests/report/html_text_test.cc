#include "report/html_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/html_page.h"
#include "report/numbers.h"

namespace partita::report::html_text_test {
namespace {

using ::testing::HasSubstr;

TEST(EscapeTest, LeavesNoMarkup) {
  EXPECT_EQ(Escape("<script>alert('x' & \"y\")</script>"),
            "&lt;script&gt;alert(&#39;x&#39; &amp; &quot;y&quot;)&lt;/script&gt;");
  EXPECT_EQ(Escape("a < b && c > d"), "a &lt; b &amp;&amp; c &gt; d");
  EXPECT_EQ(Escape("Jörg Müller, 東京, \u03BB"), "Jörg Müller, 東京, \u03BB");
  EXPECT_EQ(Escape(""), "");
}

TEST(EscapeTest, ReplacesWhatHidesOrReorders) {
  EXPECT_EQ(Escape(std::string("a\0b\x1b\x7f", 5)), "a\uFFFDb\uFFFD\uFFFD");
  EXPECT_EQ(Escape("line\n\tnext"), "line\n\tnext");
  for (const char* mark : {"\u200E", "\u200F", "\u202A", "\u202E", "\u2066", "\u2069"}) {
    EXPECT_EQ(Escape(std::string("a") + mark + "b"), "a\uFFFDb");
  }
  // Their neighbours stay: a dash, a bullet, a per mille sign.
  EXPECT_EQ(Escape("\u2013\u2022\u2030\u2064"), "\u2013\u2022\u2030\u2064");
  // A cut-off sequence at the end is the browser's to replace.
  EXPECT_EQ(Escape("a\xE2\x80"), "a\xE2\x80");
}

TEST(HtmlTableTest, AlignsNumbersAndSpansHeadings) {
  HtmlTable table{"A <b>", {"Name", "Value"}, {1}, {}, "fit"};
  table.AddHeading("Group");
  table.Add({"x", "1.5"});
  const std::string html = RenderHtmlTable(table);
  EXPECT_THAT(html, HasSubstr("<table class=\"fit\">"));
  EXPECT_THAT(html, HasSubstr("<caption>A &lt;b&gt;</caption>"));
  EXPECT_THAT(html, HasSubstr("<tr><th>Name</th><th class=\"number\">Value</th></tr>"));
  EXPECT_THAT(html, HasSubstr("scope=\"rowgroup\" colspan=\"2\">Group</th>"));
  EXPECT_THAT(html, HasSubstr("<tr><td>x</td><td class=\"number\">1.5</td></tr>"));
}

// On narrow screens a line ends before or after "(47.7 %)", not within.
TEST(HtmlTableTest, SharesStayWhole) {
  HtmlTable table{"", {"of", "95 % from"}, {}, {}, ""};
  table.Add({"251 (47.7 %)", "5 % and 10 %"});
  const std::string html = RenderHtmlTable(table);
  EXPECT_THAT(html, HasSubstr("<td>251 (47.7\u00A0%)</td><td>5\u00A0% and 10\u00A0%</td>"));
  EXPECT_THAT(html, HasSubstr("<th>95 % from</th>"));
}

TEST(FigureTest, EscapesItsAttributes) {
  const std::string html = Figure({{"plot", "\" onload=\"x"}}, "a\"b", "<i>");
  EXPECT_EQ(html,
            "<figure data-plot=\"&quot; onload=&quot;x\" data-label=\"a&quot;b\">"
            "<figcaption>&lt;i&gt;</figcaption></figure>\n");
}

TEST(EmbeddableJsonTest, CannotEndItsElement) {
  EXPECT_EQ(EmbeddableJson(R"({"a":"</script><!--<script>"})"),
            R"({"a":"\u003c/script>\u003c!--\u003cscript>"})");
}

TEST(SuppressedCountTest, HidesSmallCountsOnly) {
  EXPECT_EQ(SuppressedCount(0, 5), "0");
  EXPECT_EQ(SuppressedCount(1, 5), "fewer than 5");
  EXPECT_EQ(SuppressedCount(4, 5), "fewer than 5");
  EXPECT_EQ(SuppressedCount(5, 5), "5");
  EXPECT_EQ(SuppressedCount(1204332, 5), "1,204,332");
  EXPECT_EQ(SuppressedCount(1, 0), "1");
}

TEST(NumbersTest, PrintAsReportsDo) {
  EXPECT_EQ(Fixed3(-0.11), "-0.110");
  EXPECT_EQ(Fixed3(std::nan("")), "NA");
  EXPECT_EQ(PValue(0.00049), "< 0.001");
  EXPECT_EQ(PValue(0.0005), "0.001");
  EXPECT_EQ(PValue(1), "1.000");
  EXPECT_EQ(PValue(std::nan("")), "NA");
  EXPECT_EQ(Significant3(4.9357695), "4.94");
  EXPECT_EQ(Significant3(1.22e-14), "1.22e-14");
}

}  // namespace
}  // namespace partita::report::html_text_test
