#include "report/row_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace partita::report::row_plot_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<double> Numbers(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<double> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
    found.push_back(std::stod((*it)[1]));
  return found;
}

TEST(RowPlotTest, BarsAreAsLongAsTheirShares) {
  const std::string html =
      BarPlotHtml("Shares of <x>", "real", "made up", {{"a <level>", 0.5, 0.25}, {"b", 1.5, 0}});
  const std::string plot = html.substr(html.find("class=\"lines\""));
  const std::vector<double> widths = Numbers(plot, R"re(class="bar[^>]* width="([0-9.]+)")re");
  ASSERT_EQ(widths.size(), 4U);
  EXPECT_EQ(widths[0], 2 * widths[1]);
  EXPECT_EQ(widths[2], 2 * widths[0]);  // not beyond 1
  EXPECT_EQ(widths[3], 0);
  EXPECT_THAT(html, HasSubstr("a &lt;level&gt;"));
  EXPECT_THAT(html, HasSubstr("0.250"));
  EXPECT_THAT(html, HasSubstr("<span>made up</span>"));
  EXPECT_THAT(html, Not(HasSubstr("<x>")));
}

TEST(RowPlotTest, LongNamesAreCut) {
  const std::string name(200, 'n');
  const std::string html = BarPlotHtml("t", "a", "b", {{name, 0.5, 0.5}});
  EXPECT_THAT(html, Not(HasSubstr(std::string(63, 'n'))));
  EXPECT_THAT(html, HasSubstr("n\u2026<"));
}

TEST(RowPlotTest, IntervalsShareAnAxisAndEndAtItsEnds) {
  const std::string html = IntervalPlotHtml(
      {"Intervals", "standard deviations", false, {{"zero", -1, 0, 1}, {"far", -100, 2, 100}}}, 8);
  const std::vector<double> from = Numbers(html, R"re(class="line s1" x1="([0-9.]+)")re"),
                            to = Numbers(html, R"re(class="line s1" x1="[^"]*" x2="([0-9.]+)")re"),
                            at = Numbers(html, R"re(cx="([0-9.]+)")re");
  ASSERT_EQ(from.size(), 2U);
  ASSERT_EQ(at.size(), 2U);
  EXPECT_NEAR(at[0], (from[0] + to[0]) / 2, 0.1);
  EXPECT_NEAR(to[0] - from[0], (to[1] - from[1]) / 8, 0.2);
  EXPECT_NEAR(at[1] - at[0], to[0] - from[0], 0.2);  // coordinates have one decimal
  EXPECT_THAT(html, HasSubstr(">standard deviations</text>"));
}

// 0.5, 1 and 2 are equally far apart, and the line of nothing stands at 1.
TEST(RowPlotTest, RatiosStandAtTheirLogarithms) {
  const std::string html = IntervalPlotHtml({"Odds ratios",
                                             "odds ratio",
                                             true,
                                             {{"age", 0.5, 1, 2},
                                              {"stage", 1, 4, 16},
                                              {"unknown", 0, 1, 2},
                                              {"not finite", 1, 1, std::nan("")}}});
  const std::vector<double> from = Numbers(html, R"re(class="line s1" x1="([0-9.]+)")re"),
                            to = Numbers(html, R"re(class="line s1" x1="[^"]*" x2="([0-9.]+)")re"),
                            at = Numbers(html, R"re(cx="([0-9.]+)")re"),
                            nothing = Numbers(html, R"re(class="axis" x1="([0-9.]+)")re");
  ASSERT_EQ(at.size(), 2U) << "only rows that have a place";
  EXPECT_NEAR(at[0] - from[0], to[0] - at[0], 0.2);
  EXPECT_NEAR(at[1] - from[1], to[0] - from[0], 0.2);
  EXPECT_NEAR(to[1] - from[1], 2 * (to[0] - from[0]), 0.2);
  ASSERT_EQ(nothing.size(), 4U) << "a piece in every row, beside its name";
  EXPECT_NEAR(nothing[0], at[0], 0.1);
  EXPECT_THAT(html, HasSubstr(">unknown<"));
  for (const char* tick : {">0.5<", ">1<", ">2<", ">5<", ">10<"})
    EXPECT_THAT(html, HasSubstr(tick));
}

// Within a decade there are ticks on both sides of 1, however far the other side reaches.
TEST(RowPlotTest, TicksOfRatiosAreOnBothSidesOfNothing) {
  const std::string html = IntervalPlotHtml(
      {"Hazard ratios", "hazard ratio", true, {{"a", 0.59, 0.7, 0.82}, {"b", 1, 2, 3.1}}});
  for (const char* tick : {">0.7<", ">1<", ">1.5<", ">2<", ">3<"})
    EXPECT_THAT(html, HasSubstr(tick));
}

// All on one side: the axis reaches to nothing anyway.
TEST(RowPlotTest, TheAxisHoldsNothing) {
  const std::string html =
      IntervalPlotHtml({"Hazard ratios", "hazard ratio", true, {{"age", 1.2, 1.5, 1.9}}});
  EXPECT_EQ(Numbers(html, R"re(class="axis" x1="([0-9.]+)")re").size(), 1U);  // of one row
  const std::string none = IntervalPlotHtml({"Nothing", "difference", false, {}});
  EXPECT_THAT(none, HasSubstr(">0<"));
}

}  // namespace
}  // namespace partita::report::row_plot_test
