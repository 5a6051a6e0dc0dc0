#include "report/row_plot.h"

#include <fmt/format.h>

#include <algorithm>

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

std::string IntervalPlotHtml(const std::string& title, const std::string& x_label, double reach,
                             const std::vector<IntervalRow>& rows) {
  constexpr double kRow = kName + 14, kSide = 14, kAxisHeight = 36;
  const double height = kRow * static_cast<double>(rows.size()) + kAxisHeight,
               bottom = height - kAxisHeight;
  const auto x = [&](double value) {
    return kSide +
           (kRowWidth - 2 * kSide) * (std::clamp(value, -reach, reach) + reach) / (2 * reach);
  };
  std::string svg;
  for (double tick : Ticks(-reach, reach, 4, true)) {
    svg +=
        fmt::format("<line class=\"{0}\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"0\" y2=\"{2:.1f}\"/>",
                    tick == 0 ? "axis" : "grid", x(tick), bottom);
    svg += Text(x(tick), bottom + 14, "middle", fmt::format("{:g}", tick));
  }
  double y = 0;
  for (const IntervalRow& row : rows) {
    svg += NameAt(y, row.name);
    svg += fmt::format(
        "<line class=\"line s1\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<circle class=\"bar s1\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>",
        x(row.lower), x(row.upper), y + kName + 4, y + kName + 4, x(row.middle), y + kName + 4);
    y += kRow;
  }
  return FigureOf(title, height, svg + Text(kRowWidth / 2, height - 5, "middle", x_label), "");
}

}  // namespace partita::report
