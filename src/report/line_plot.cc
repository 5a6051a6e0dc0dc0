#include "report/line_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"
#include "report/html_text.h"

namespace partita::report {
namespace {

constexpr double kPlotWidth = 720, kPlotHeight = 360, kPlotLeft = 60, kPlotRight = 230,
                 kPlotTop = 15, kPlotBottom = 40;
constexpr std::array<const char*, 8> kColours = {"#1f77b4", "#d62728", "#2ca02c", "#ff7f0e",
                                                 "#9467bd", "#8c564b", "#17becf", "#7f7f7f"};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double Share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

std::string Start(const std::string& title, double height) {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" font-size=\"11\">",
                     kPlotWidth, height, Escape(title));
}

std::string Label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor,
                     Escape(text));
}

}  // namespace

std::string LinePlotSvg(const LinePlot& plot) {
  Range xs, ys;
  for (const PlotLine& line : plot.lines) {
    for (const auto& [x, y] : line.points) {
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      xs.Add(x);
      ys.Add(y);
    }
  }
  if (!(xs.high >= xs.low)) throw Error(ErrorCode::kUsage, "a plot has no point");
  if (plot.y_cut > ys.low) ys.high = std::min(ys.high, plot.y_cut);
  const auto at_x = [&](double x) {
    return kPlotLeft + (kPlotWidth - kPlotLeft - kPlotRight) * xs.Share(x);
  };
  const auto at_y = [&](double y) {
    return kPlotHeight - kPlotBottom -
           (kPlotHeight - kPlotTop - kPlotBottom) * ys.Share(std::min(y, ys.high));
  };
  std::string svg = Start(plot.title, kPlotHeight);
  for (int i = 0; i <= 4; ++i) {
    const double y = ys.low + (ys.high - ys.low) * i / 4, x = xs.low + (xs.high - xs.low) * i / 4;
    svg +=
        fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>",
                    kPlotLeft, kPlotWidth - kPlotRight, at_y(y));
    svg += Label(kPlotLeft - 5, at_y(y) + 4, "end", fmt::format("{:.4g}", y));
    svg += Label(at_x(x), kPlotHeight - 22, "middle", fmt::format("{:.4g}", x));
  }
  std::map<std::string, const char*> colours;
  std::string name;
  for (const PlotLine& line : plot.lines) {
    if (!line.name.empty()) name = line.name;
    const bool is_new = colours.count(name) == 0;
    if (is_new) {
      const size_t number = colours.size();
      colours[name] = kColours[number % kColours.size()];
      const double y = kPlotTop + 10 + 18 * static_cast<double>(number);
      svg += fmt::format(
          "<line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"2\"/>",
          kPlotWidth - kPlotRight + 15, kPlotWidth - kPlotRight + 35, y - 4, y - 4, colours[name]);
      svg += Label(kPlotWidth - kPlotRight + 40, y, "start", name);
    }
    std::string points;
    for (const auto& [x, y] : line.points) {
      if (std::isfinite(x) && std::isfinite(y))
        points += fmt::format("{:.1f},{:.1f} ", at_x(x), at_y(y));
    }
    svg += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.4\" "
        "stroke-opacity=\"0.75\"/>",
        points, colours[name]);
  }
  svg += Label((kPlotWidth - kPlotRight + kPlotLeft) / 2, kPlotHeight - 5, "middle", plot.x_label);
  svg += Label(5, kPlotTop - 3, "start", plot.y_label);
  return svg + "</svg>";
}

std::string BarPlotSvg(const std::string& title, const std::string& first,
                       const std::string& second, const std::vector<BarRow>& rows) {
  constexpr double kNames = 200, kLine = 26;
  const double height = 30 + kLine * static_cast<double>(rows.size());
  const auto bar = [&](double share, double y, const char* colour) {
    const double width = (kPlotWidth - kNames - 60) * std::clamp(share, 0.0, 1.0);
    return fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"9\" fill=\"{}\"/>",
                       kNames, y, width, colour);
  };
  std::string svg = Start(title, height);
  svg += fmt::format("<rect x=\"{}\" y=\"4\" width=\"9\" height=\"9\" fill=\"{}\"/>", kNames,
                     kColours[0]) +
         Label(kNames + 14, 13, "start", first) +
         fmt::format("<rect x=\"{}\" y=\"4\" width=\"9\" height=\"9\" fill=\"{}\"/>", kNames + 200,
                     kColours[1]) +
         Label(kNames + 214, 13, "start", second);
  double y = 24;
  for (const BarRow& row : rows) {
    svg += Label(kNames - 6, y + 12, "end", row.name) + bar(row.first, y, kColours[0]) +
           bar(row.second, y + 10, kColours[1]);
    y += kLine;
  }
  return svg + "</svg>";
}

}  // namespace partita::report
