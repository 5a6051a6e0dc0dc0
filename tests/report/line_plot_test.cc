#include "report/line_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <sstream>

#include "base/error.h"
#include "report/web_assets.h"

namespace partita::report::line_plot_test {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<std::string> Matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
    found.push_back((*it)[1]);
  return found;
}

using Points = std::vector<std::pair<double, double>>;

std::vector<Points> Drawn(const std::string& html, const std::string& shape) {
  std::vector<Points> drawn;
  for (const std::string& text : Matches(html, "<" + shape + R"re([^>]* points="([^"]*)")re")) {
    Points points;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      const size_t comma = word.find(',');
      points.emplace_back(std::stod(word.substr(0, comma)), std::stod(word.substr(comma + 1)));
    }
    drawn.push_back(std::move(points));
  }
  return drawn;
}

LinePlot Sample(Points points) { return {"title", "x", "y", {{"line", std::move(points)}}}; }

TEST(LinePlotTest, NegativeValuesAreDrawnWhereTheyAre) {
  const std::vector<Points> lines =
      Drawn(LinePlotHtml(Sample({{0, -3}, {1, -2}, {2, 1}})), "polyline");
  ASSERT_THAT(lines, SizeIs(1));
  ASSERT_THAT(lines[0], SizeIs(3));
  EXPECT_GT(lines[0][0].second, lines[0][1].second);
  // The same scale everywhere.
  EXPECT_NEAR((lines[0][1].second - lines[0][2].second) / 3,
              lines[0][0].second - lines[0][1].second, 0.1);
}

TEST(LinePlotTest, ACutIsOnlyWhereItIsAskedFor) {
  LinePlot plot = Sample({{0, 0}, {1, 1}, {2, 100}});
  plot.y_cut = 2;
  const Points cut = Drawn(LinePlotHtml(plot), "polyline").at(0);
  EXPECT_NEAR(cut[0].second - cut[1].second, cut[1].second - cut[2].second, 0.1);
}

TEST(LinePlotTest, TicksAreNumbersThatPeopleChoose) {
  EXPECT_THAT(Ticks(-1.3, 2.2, 5, false),
              ElementsAre(DoubleEq(-1), DoubleEq(0), DoubleEq(1), DoubleEq(2)));
  EXPECT_THAT(Ticks(1, 1000, 5, true), ElementsAre(200, 400, 600, 800, 1000));
  EXPECT_THAT(Ticks(1, 3, 5, true), ElementsAre(1, 2, 3));
  EXPECT_THAT(Ticks(0.1, 0.3, 2, false),
              ElementsAre(DoubleEq(0.1), DoubleEq(0.2), ::testing::DoubleNear(0.3, 1e-12)));
  EXPECT_THAT(Ticks(7, 7, 5, false), ElementsAre(7));
  EXPECT_THAT(LinePlotHtml(Sample({{0, 0.1}, {1, 0.3}})),
              HasSubstr("text-anchor=\"end\">0.15</text>"));
}

TEST(LinePlotTest, EveryLineHasItsLookAndALegend) {
  LinePlot plot{"many", "x", "y", {}};
  constexpr size_t kLines = kSeriesColours * kSeriesDashes;
  for (size_t i = 0; i < kLines; ++i)
    plot.lines.push_back({"chain " + std::to_string(i + 1), {{0, 0.0 + double(i)}, {1, 1}}});
  const std::string html = LinePlotHtml(plot);
  const std::vector<std::string> looks = Matches(html, R"re(<polyline class="([^"]*)")re");
  EXPECT_EQ(looks.size(), kLines);
  EXPECT_EQ(std::set<std::string>(looks.begin(), looks.end()).size(), kLines);
  const std::string legend = html.substr(html.find("class=\"legend\""));
  for (size_t i = 0; i < kLines; ++i)
    EXPECT_THAT(legend, HasSubstr("<span>chain " + std::to_string(i + 1) + "</span>"));
  // A line without a name goes on with the one before.
  LinePlot parts = Sample({{0, 0}, {1, 1}});
  parts.lines.push_back({"", {{2, 2}, {3, 3}}});
  EXPECT_THAT(LinePlotHtml(parts), Not(HasSubstr("s2")));
}

TEST(LinePlotTest, BandsComeBackAlongTheirUpperEdge) {
  LinePlot plot = Sample({{0, 0}, {1, 1}});
  plot.lines.push_back({"band", {{0, -1}, {1, -1}}, {2, 3}});
  const std::string html = LinePlotHtml(plot);
  const std::vector<Points> bands = Drawn(html, "polygon");
  ASSERT_THAT(bands, SizeIs(1));
  ASSERT_THAT(bands[0], SizeIs(4));
  EXPECT_EQ(bands[0][1].first, bands[0][2].first);
  EXPECT_GT(bands[0][1].second, bands[0][2].second);
  EXPECT_LT(html.find("<polygon"), html.find("<polyline"));  // below the lines
}

TEST(LinePlotTest, WhatIsNoNumberIsLeftOut) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Drawn(LinePlotHtml(Sample({{0, 1}, {1, kNan}, {2, 3}})), "polyline").at(0),
              SizeIs(2));
  EXPECT_THROW(LinePlotHtml(Sample({{0, kNan}})), Error);
  EXPECT_THROW(LinePlotHtml(Sample({})), Error);
  // A flat line is in the middle, on an axis with numbers around it.
  const std::string flat = LinePlotHtml(Sample({{0, 5}, {1, 5}}));
  const Points line = Drawn(flat, "polyline").at(0);
  EXPECT_EQ(line[0].second, line[1].second);
  EXPECT_THAT(flat, HasSubstr(">5</text>"));
}

TEST(LinePlotTest, TextsAreText) {
  LinePlot plot{"<b>", "<x>", "<y>", {{"<n>", {{0, 0}, {1, 1}}}}, {}, "<note>"};
  const std::string html = LinePlotHtml(plot);
  for (const char* markup : {"<b>", "<x>", "<y>", "<n>", "<note>"})
    EXPECT_THAT(html, Not(HasSubstr(markup)));
  EXPECT_THAT(html, HasSubstr("&lt;note&gt;"));
}

// ---------------------------------------------------------------------------- colours

using Colour = std::array<double, 3>;

double Linear(double byte) {
  const double c = byte / 255;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

// CIE 1976 L*a*b*, of linear sRGB under D65.
Colour Lab(const Colour& rgb) {
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * rgb[0] + 0.3576 * rgb[1] + 0.1805 * rgb[2]) / 0.95047);
  const double y = f(0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]);
  const double z = f((0.0193 * rgb[0] + 0.1192 * rgb[1] + 0.9505 * rgb[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

// Machado, Oliveira and Fernandes (2009), severity 1: protanopia, deuteranopia, tritanopia.
using Vision = std::array<Colour, 3>;
constexpr std::array<Vision, 4> kVisions = {{{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
                                             {{{0.152286, 1.052583, -0.204868},
                                               {0.114503, 0.786281, 0.099216},
                                               {-0.003882, -0.048116, 1.051998}}},
                                             {{{0.367322, 0.860646, -0.227968},
                                               {0.280085, 0.672501, 0.047413},
                                               {-0.011820, 0.042940, 0.968881}}},
                                             {{{1.255528, -0.076749, -0.178779},
                                               {-0.078411, 0.930809, 0.147602},
                                               {0.004733, 0.691367, 0.303900}}}}};

Colour Seen(const Colour& rgb, const Vision& vision) {
  Colour seen{};
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) seen[i] += vision[i][j] * rgb[j];
    seen[i] = std::clamp(seen[i], 0.0, 1.0);
  }
  return Lab(seen);
}

TEST(LinePlotTest, ColoursAreApartForEveryVision) {
  const std::string style(web_assets::Style());
  std::vector<Colour> colours;
  for (const std::string& hex : Matches(style, "--series-[0-9]: ?#([0-9a-f]{6})")) {
    Colour& colour = colours.emplace_back();
    for (size_t i = 0; i < 3; ++i) colour[i] = Linear(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  ASSERT_THAT(colours, SizeIs(kSeriesColours));
  for (const Vision& vision : kVisions) {
    for (size_t i = 0; i < colours.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const Colour a = Seen(colours[i], vision), b = Seen(colours[j], vision);
        EXPECT_GE(std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), 20) << i << " and " << j;
      }
    }
  }
}

}  // namespace
}  // namespace partita::report::line_plot_test
