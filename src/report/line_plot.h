// A plot of lines as SVG, without a script: for pages of experiments.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace partita::report {

struct PlotLine {
  std::string name;  // in the key; empty: the line belongs to the one before
  std::vector<std::pair<double, double>> points;
};

struct LinePlot {
  std::string title, x_label, y_label;  // text
  std::vector<PlotLine> lines;
  // The y axis ends here, higher points are drawn at its end; not above the lowest point: no cut.
  double y_cut = 0;
};

// Lines of one name have one colour. Points that are not finite are left out. Throws kUsage for a
// plot without a point.
std::string LinePlotSvg(const LinePlot& plot);

// Names and bars side by side, for comparisons of shares in [0, 1].
struct BarRow {
  std::string name;
  double first = 0, second = 0;
};
std::string BarPlotSvg(const std::string& title, const std::string& first,
                       const std::string& second, const std::vector<BarRow>& rows);

}  // namespace partita::report
