// The plots of a chain's report: traces, densities with intervals, and ranks.
#pragma once

#include <string>
#include <vector>

#include "methods/mcmc/result.h"
#include "methods/mcmc/spec.h"
#include "study/plan/document.h"

namespace partita::methods::mcmc {

// A line per chain up to as many; of more chains a band from the lowest to the highest, and their
// mean.
inline constexpr size_t kMostLines = 6;
inline constexpr size_t kMostPlottedParameters = 12;

// What a coefficient of the model is: "log odds ratio", "log hazard ratio", ...; empty: in the
// units of the outcome. Intercepts and scales are named otherwise.
std::string CoefficientUnit(ChainModel model);

// Trace and density of each parameter, with interval, R-hat and effective draws.
std::vector<study::DocumentPlot> ChainPlots(const ChainSpec& spec, const ChainSummary& summary,
                                            const stats::mcmc::Draws& draws);

// How many draws of a chain fall in each part of all ranks: chains that agree have as many in each.
std::vector<study::DocumentPlot> RankPlots(const ChainSummary& summary,
                                           const stats::mcmc::Draws& draws);

}  // namespace partita::methods::mcmc
