// Rows of names with bars or intervals as SVG, without a script. Names stand above what they name,
// so that they may be long.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/plan/document.h"

namespace partita::report {

// Two bars, for comparisons of shares in [0, 1].
struct BarRow {
  std::string name;
  double first = 0, second = 0;
};
// A <figure> with a legend of what the bars are.
std::string BarPlotHtml(const std::string& title, const std::string& first,
                        const std::string& second, const std::vector<BarRow>& rows);

// A <figure>: all on one axis, with a line at 0, of ratios at 1. reach: the axis goes from -reach to reach, and what is beyond ends there; empty: it holds all intervals.
// Rows with a number that is not finite, or no ratio, keep their name alone.
std::string IntervalPlotHtml(const study::DocumentIntervals& plot,
                             std::optional<double> reach = {});

}  // namespace partita::report
