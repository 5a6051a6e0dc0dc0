#include "report/row_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text_table.h"
#include "report/html_text.h"
#include "report/line_plot.h"

namespace partita::report {
namespace {

constexpr double kRowWidth = 440, kName = 16;  // names are above, in so high a line

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor,
                     Escape(text));
}

// The line with a row's name.
std::string NameAt(double y, const std::string& name) {
  constexpr size_t kLongestName = 62;
  return Text(0, y + kName - 4, "start", CutText(name, kLongestName));
}

std::string FigureOf(const std::string& title, double height, const std::string& svg,
                     const std::string& legend) {
  return Element("figure",
                 Element("div", Escape(title), "plot-title") + legend +
                     fmt::format("<svg class=\"lines\" viewBox=\"0 0 {} {}\" role=\"img\" "
                                 "aria-label=\"{}\">{}</svg>",
                                 kRowWidth, height, Escape(title), svg)) +
         "\n";
}

std::string BarLegendEntry(const std::string& name, size_t number) {
  return Element(
      "span", fmt::format("<svg role=\"presentation\" width=\"12\" height=\"12\"><rect class=\"bar "
                          "{}\" width=\"12\" height=\"12\"/></svg>",
                          SeriesClass(number)) +
                  Element("span", Escape(name)));
}

// Where numbers stand: of ratios their logarithms.
struct Axis {
  double low = -1, high = 1;
  bool ratios = false;

  double Nothing() const { return ratios ? 1 : 0; }
  bool Takes(double value) const { return std::isfinite(value) && (!ratios || value > 0); }
  bool Takes(const study::DocumentInterval& row) const {
    return Takes(row.lower) && Takes(row.middle) && Takes(row.upper);
  }
  double Place(double value) const { return ratios ? std::log(value) : value; }
  double X(double value) const {
    constexpr double kSide = 14;
    const double share =
        (Place(std::clamp(value, low, high)) - Place(low)) / (Place(high) - Place(low));
    return kSide + (kRowWidth - 2 * kSide) * share;
  }
  // Always with a line at nothing. On both sides of a ratio of 1, which even steps of the ratio are not.
  std::vector<double> Ticks() const {
    if (!ratios || high < 2 * low) return report::Ticks(low, high, 4, false);
    std::vector<double> digits = {1};
    if (high < 100 * low) digits = {1, 2, 5};
    if (high < 10 * low) digits = {1, 1.5, 2, 3, 5, 7};
    std::vector<double> ticks;
    for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10) {
      for (const double digit : digits) {
        if (digit * decade >= low && digit * decade <= high) ticks.push_back(digit * decade);
      }
    }
    return ticks;
  }
};

// That holds all intervals, and nothing.
Axis AxisOf(const study::DocumentIntervals& plot) {
  Axis axis{0, 0, plot.ratios};
  axis.low = axis.high = axis.Nothing();
  for (const study::DocumentInterval& row : plot.rows) {
    if (!axis.Takes(row)) continue;
    axis.low = std::min(axis.low, row.lower);
    axis.high = std::max(axis.high, row.upper);
  }
  if (axis.low < axis.high) return axis;
  return plot.ratios ? Axis{0.5, 2, true} : Axis{-1, 1, false};
}

}  // namespace

std::string BarPlotHtml(const std::string& title, const std::string& first,
                        const std::string& second, const std::vector<BarRow>& rows) {
  constexpr double kBar = 13, kGap = 10, kLongest = kRowWidth - 50;
  std::string svg;
  double y = 0;
  for (const BarRow& row : rows) {
    svg += NameAt(y, row.name);
    y += kName;
    size_t number = 0;
    for (const double share : {row.first, row.second}) {
      const double width = kLongest * std::clamp(share, 0.0, 1.0);
      svg += fmt::format(
          "<rect class=\"bar {}\" x=\"0\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"/>",
          SeriesClass(number++), y, width, kBar - 1);
      svg += Text(width + 5, y + kBar - 1, "start", fmt::format("{:.3f}", share));
      y += kBar;
    }
    y += kGap;
  }
  return FigureOf(title, std::max(y, 1.0), svg,
                  Element("div", BarLegendEntry(first, 0) + BarLegendEntry(second, 1), "legend"));
}

std::string IntervalPlotHtml(const study::DocumentIntervals& plot, std::optional<double> reach) {
  constexpr double kRow = kName + 14, kAxisHeight = 36;
  const double height = kRow * static_cast<double>(plot.rows.size()) + kAxisHeight,
               bottom = height - kAxisHeight;
  const Axis axis = reach ? Axis{-*reach, *reach, false} : AxisOf(plot);
  std::string svg;
  for (const double tick : axis.Ticks()) {
    // Beside the names' lines, not through them.
    for (double y = 0; y < bottom; y += kRow) {
      svg += fmt::format(
          "<line class=\"{0}\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{3:.1f}\"/>",
          tick == axis.Nothing() ? "axis" : "grid", axis.X(tick), y + kName - 1, y + kRow);
    }
    svg += Text(axis.X(tick), bottom + 14, "middle", fmt::format("{:g}", tick));
  }
  double y = 0;
  for (const study::DocumentInterval& row : plot.rows) {
    svg += NameAt(y, row.name);
    if (axis.Takes(row)) {
      svg += fmt::format(
          "<line class=\"line s1\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
          "<circle class=\"bar s1\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>",
          axis.X(row.lower), axis.X(row.upper), y + kName + 4, y + kName + 4, axis.X(row.middle),
          y + kName + 4);
    }
    y += kRow;
  }
  return FigureOf(plot.title, height, svg + Text(kRowWidth / 2, height - 5, "middle", plot.x_label),
                  "");
}

}  // namespace partita::report
