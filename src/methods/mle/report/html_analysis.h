// The statistical sections of the report, as markup.
#pragma once

#include <span>
#include <string>

#include "methods/mle/fit/result.h"
#include "report/run_facts.h"

namespace partita::methods::mle {

// All of one analysis: model, diagram, estimates, fit, convergence. `index`: its place in the
// result, where the plots find their numbers; `alone`: the study has no other.
std::string AnalysisHtml(const MleResult& result, const report::RunFacts& facts, size_t index,
                         bool alone);

// Fit measures of all analyses side by side, and the parameters that they share as a plot.
std::string ComparisonHtml(std::span<const MleResult> results, const report::RunFacts& facts);

}  // namespace partita::methods::mle
