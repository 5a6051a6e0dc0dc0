// The public map between the analysis variables' units and z in [-1, 1], as statistics see it.
#pragma once

#include "methods/mle/fit/analysis.h"
#include "stats/sem/linear_statistics.h"

namespace partita::methods::mle {

// Throws kBadInput for a variable that is not a number with lower < upper.
stats::StatisticsScale PublicScale(const MleAnalysis& analysis);

}  // namespace partita::methods::mle
