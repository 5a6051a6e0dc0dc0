// A plot of lines and bands as SVG, without a script. Legible from 400 pixels on: its text is as
// large as the page's, and names stand in a legend below that wraps.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace partita::report {

// Distinct for colour-blind readers and in print: six colours (report.css, .s1 to .s6), then the
// same with dashes.
inline constexpr size_t kSeriesColours = 6, kSeriesDashes = 4;

// Classes of the element that draws series `number`, from 0: "s1", "s2 d1", ...
std::string SeriesClass(size_t number);

struct PlotLine {
  std::string name;  // in the legend; empty: the line belongs to the one before
  std::vector<std::pair<double, double>> points;
  std::vector<double> upper = {};  // of each point, if it is a band from `points` up to there
};

struct LinePlot {
  std::string title, x_label, y_label;  // text
  std::vector<PlotLine> lines;          // bands are drawn first
  std::optional<double> y_cut = {};     // the y axis ends here, higher points are drawn at its end
  std::string note = {};                // a line of text below the title
};

// A <figure>: title, note, picture, and a legend unless there is one nameless line. Lines of one
// name look the same. Points that are not finite are left out. Throws kUsage for a plot without a
// point.
std::string LinePlotHtml(const LinePlot& plot);

// About `count` numbers that people would choose between low and high: multiples of 1, 2 or 5 times
// a power of ten, whole if `whole`. One number if both are the same.
std::vector<double> Ticks(double low, double high, int count, bool whole);

}  // namespace partita::report
