// Rows of names with bars or intervals as SVG, without a script. Names stand above what they name,
// so that they may be long.
#pragma once

#include <string>
#include <vector>

namespace partita::report {

// Two bars, for comparisons of shares in [0, 1].
struct BarRow {
  std::string name;
  double first = 0, second = 0;
};
// A <figure> with a legend of what the bars are.
std::string BarPlotHtml(const std::string& title, const std::string& first,
                        const std::string& second, const std::vector<BarRow>& rows);

struct IntervalRow {
  std::string name;
  double lower = 0, middle = 0, upper = 0;
};
// A <figure>: all on one axis from -reach to reach, with a line at 0; what is beyond ends there.
std::string IntervalPlotHtml(const std::string& title, const std::string& x_label, double reach,
                             const std::vector<IntervalRow>& rows);

}  // namespace partita::report
