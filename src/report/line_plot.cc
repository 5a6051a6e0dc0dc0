#include "report/line_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/text_table.h"
#include "report/html_text.h"

namespace partita::report {
namespace {

// Of the picture's own units; with a font of 12 a character is at most about 7 wide.
constexpr double kWidth = 440, kHeight = 250, kTop = 26, kBottom = 40, kRight = 18;
constexpr double kCharacter = 7;
constexpr int kXTicks = 5, kYTicks = 5;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return !(high >= low); }
  double Share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

struct Extent {
  Range x, y;
  bool whole_x = true;
};

bool IsShown(const PlotLine& line, size_t i) {
  const auto& [x, y] = line.points[i];
  return std::isfinite(x) && std::isfinite(y) &&
         (line.upper.empty() || std::isfinite(line.upper[i]));
}

Extent ExtentOf(const LinePlot& plot) {
  Extent extent;
  for (const PlotLine& line : plot.lines) {
    for (size_t i = 0; i < line.points.size(); ++i) {
      if (!IsShown(line, i)) continue;
      const auto& [x, y] = line.points[i];
      extent.x.Add(x);
      extent.y.Add(y);
      if (!line.upper.empty()) extent.y.Add(line.upper[i]);
      extent.whole_x = extent.whole_x && x == std::round(x);
    }
  }
  if (extent.x.empty()) throw Error(ErrorCode::kUsage, "a plot has no point");
  if (plot.y_cut && *plot.y_cut > extent.y.low)
    extent.y.high = std::min(extent.y.high, *plot.y_cut);
  return extent;
}

std::string TickText(double value) { return fmt::format("{:.10g}", value == 0 ? 0 : value); }

std::string Label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor,
                     Escape(text));
}

// From values to the picture, which the y ticks leave so much room on the left.
class Frame {
 public:
  Frame(const LinePlot& plot, const Extent& extent)
      : extent_(extent),
        x_ticks_(Ticks(extent.x.low, extent.x.high, kXTicks, extent.whole_x)),
        y_ticks_(Ticks(extent.y.low, extent.y.high, kYTicks, false)) {
    for (double tick : y_ticks_)
      left_ = std::max(left_, 12 + kCharacter * static_cast<double>(TickText(tick).size()));
    // A flat line stands in the middle of an axis.
    if (extent.y.low == extent.y.high) {
      const double room = extent.y.low == 0 ? 1 : std::abs(extent.y.low) / 2;
      extent_.y = {extent.y.low - room, extent.y.high + room};
    }
    svg_ = Axes(plot);
  }

  double X(double x) const { return left_ + (kWidth - left_ - kRight) * extent_.x.Share(x); }
  double Y(double y) const {
    return kHeight - kBottom -
           (kHeight - kTop - kBottom) * extent_.y.Share(std::min(y, extent_.y.high));
  }
  const std::string& svg() const { return svg_; }

 private:
  std::string Axes(const LinePlot& plot) const {
    std::string svg;
    const double right = kWidth - kRight, bottom = kHeight - kBottom;
    for (double tick : y_ticks_) {
      svg += fmt::format(
          "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>",
          left_, right, Y(tick));
      svg += Label(left_ - 6, Y(tick) + 4, "end", TickText(tick));
    }
    svg += fmt::format(
        "<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>", left_,
        right, bottom);
    for (double tick : x_ticks_) {
      svg += fmt::format(
          "<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>",
          X(tick), bottom, bottom + 4);
      // The texts of the first and the last tick stay inside.
      const double half = kCharacter * static_cast<double>(TickText(tick).size()) / 2;
      svg += Label(std::clamp(X(tick), half, kWidth - half), bottom + 17, "middle", TickText(tick));
    }
    const double middle = (left_ + right) / 2;
    const auto longest = static_cast<size_t>(2 * (kWidth - middle) / kCharacter);
    svg += Label(middle, kHeight - 5, "middle", CutText(plot.x_label, longest));
    return svg + Label(2, 12, "start",
                       CutText(plot.y_label, static_cast<size_t>((kWidth - 4) / kCharacter)));
  }

  Extent extent_;
  std::vector<double> x_ticks_, y_ticks_;
  double left_ = 0;
  std::string svg_;
};

std::string PointsText(const Frame& frame, const PlotLine& line) {
  std::string points;
  for (size_t i = 0; i < line.points.size(); ++i) {
    if (!IsShown(line, i)) continue;
    points += fmt::format("{:.1f},{:.1f} ", frame.X(line.points[i].first),
                          frame.Y(line.points[i].second));
  }
  // A band comes back along its upper edge.
  for (size_t i = line.upper.size(); i-- > 0;) {
    if (!IsShown(line, i)) continue;
    points += fmt::format("{:.1f},{:.1f} ", frame.X(line.points[i].first), frame.Y(line.upper[i]));
  }
  if (!points.empty()) points.pop_back();
  return points;
}

std::string Drawn(const Frame& frame, const PlotLine& line, size_t number) {
  return fmt::format(
      "<{} class=\"{} {}\" points=\"{}\"/>", line.upper.empty() ? "polyline" : "polygon",
      line.upper.empty() ? "line" : "band", SeriesClass(number), PointsText(frame, line));
}

std::string LegendEntry(const PlotLine& line, size_t number) {
  const std::string shape =
      line.upper.empty() ? fmt::format("<line class=\"line {}\" x2=\"22\" y1=\"6\" y2=\"6\"/>",
                                       SeriesClass(number))
                         : fmt::format("<rect class=\"band {}\" width=\"22\" height=\"12\"/>",
                                       SeriesClass(number));
  return Element("span", "<svg role=\"presentation\" width=\"22\" height=\"12\">" + shape +
                             "</svg>" + Element("span", Escape(line.name)));
}

}  // namespace

std::string SeriesClass(size_t number) {
  const size_t dash = number / kSeriesColours % kSeriesDashes;
  return fmt::format("s{}{}", number % kSeriesColours + 1,
                     dash == 0 ? "" : fmt::format(" d{}", dash));
}

std::vector<double> Ticks(double low, double high, int count, bool whole) {
  if (!(high > low)) return {low};
  // Rather some more than some less.
  constexpr double kSmaller = 0.75;
  const double rough = kSmaller * (high - low) / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power < rough) continue;
    step = factor * power;
    break;
  }
  if (whole) step = std::max(step, 1.0);
  std::vector<double> ticks;
  constexpr double kSlack = 1e-9;  // of a step: for ends that are a tick but for rounding
  const double last = std::floor(high / step + kSlack);
  for (double i = std::ceil(low / step - kSlack); i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

std::string LinePlotHtml(const LinePlot& plot) {
  const Frame frame(plot, ExtentOf(plot));
  std::map<std::string, size_t> numbers;
  std::string name, bands, lines, legend;
  for (const PlotLine& line : plot.lines) {
    if (!line.name.empty()) name = line.name;
    const auto [found, is_new] = numbers.emplace(name, numbers.size());
    (line.upper.empty() ? lines : bands) += Drawn(frame, line, found->second);
    if (is_new && !name.empty()) legend += LegendEntry(line, found->second);
  }
  const std::string svg = fmt::format(
      "<svg class=\"lines\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{}{}{}</svg>",
      kWidth, kHeight, Escape(plot.title), frame.svg(), bands, lines);
  return Element("figure",
                 Element("div", Escape(plot.title), "plot-title") +
                     (plot.note.empty() ? "" : Element("div", Escape(plot.note), "note")) + svg +
                     (legend.empty() ? "" : Element("div", legend, "legend"))) +
         "\n";
}

}  // namespace partita::report
