// The numbers that the plots of a report draw, as JSON for web/src/report.js:
//   analyses: one per analysis:
//     series    names of the groups, or one empty name
//     sections  title and rows (label, series, est, lower, upper) per kind of parameter
//     graphs    per group: nodes (name, latent) and edges (from, to, kind "path" or "covariance",
//               est); no node: too large to draw
//     history   iteration, log_likelihood, max_scaled_gradient
//   comparison  series (analyses) and sections of the parameters that two analyses or more share
//   traffic     phase, start, seconds, note
// No count of rows is in it.
#pragma once

#include <span>
#include <string>

#include "methods/mle/fit/result.h"
#include "report/run_facts.h"

namespace partita::methods::mle {

// A diagram of more variables than this would not be legible.
inline constexpr size_t kMaxDiagramNodes = 80;

std::string PlotData(std::span<const MleResult> results, const report::RunFacts& facts);

// Whether two analyses or more have a parameter with an interval in common.
bool HasComparison(std::span<const MleResult> results);

// Whether the diagrams of a model can be drawn.
bool HasDiagram(const MleResult& result);

// The history of an analysis; null if it was not recorded.
const report::HistoryFacts* HistoryOf(const MleResult& result, const report::RunFacts& facts);

}  // namespace partita::methods::mle
