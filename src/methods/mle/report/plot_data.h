// The numbers that the plots of a report draw, as JSON for web/src/report.js:
//   analyses: one per analysis:
//     series    names of the groups, or one empty name
//     sections  title, scale and rows (label, series, est, lower, upper) per kind of parameter;
//               scale "standardised": one axis in standard deviations; "own": units of the model,
//               an axis for every label
//     graphs    per group: nodes (name, latent) and edges (from, to, kind "path" or "covariance",
//               est); no node: too large to draw
//     history   iteration, log_likelihood, max_scaled_gradient
//   comparison  series (analyses) and sections of the parameters that two analyses or more share
//   traffic     phase, start, seconds, note
// No count of rows is in it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "methods/mle/fit/result.h"
#include "report/run_facts.h"

namespace partita::methods::mle {

// A diagram of more variables than this would not be legible.
inline constexpr size_t kMaxDiagramNodes = 80;

std::string PlotData(std::span<const MleResult> results, const report::RunFacts& facts);

// Whether two analyses or more have a parameter with an interval in common.
bool HasComparison(std::span<const MleResult> results);

// Whether a parameter has an interval to draw.
bool HasEstimatesPlot(const MleResult& result);

// Parameters of the tables that the plot of estimates leaves out.
struct NotDrawn {
  size_t fixed = 0;
  std::vector<std::string> without_error;  // estimated, without a standard error
};
NotDrawn ParametersNotDrawn(const MleResult& result);

// Whether the diagrams of a model can be drawn.
bool HasDiagram(const MleResult& result);

// The history of an analysis; null if it was not recorded.
const report::HistoryFacts* HistoryOf(const MleResult& result, const report::RunFacts& facts);

}  // namespace partita::methods::mle
