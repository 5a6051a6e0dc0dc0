// Incomplete rows: an analysis whose moments are opened by pattern of missing values.
//
// Every pattern is a cell of rows of its own (moments_task.h), of which what its rows have is
// opened, and nothing more is needed: the likelihood of all that is there depends on the rows
// through these moments only (stats/sem/fiml.h). Patterns that are equal on the variables of the
// analysis are added up first, as integers.
#pragma once

#include <vector>

#include "methods/mle/fit/analysis.h"
#include "stats/sem/fiml.h"

namespace partita::methods::mle {

// moments: by group and, within it, by pattern (MleAnalysis::patterns), on the variables of the
// analysis. In that order, without patterns that have no rows or none of the variables.
std::vector<stats::PatternMoments> PatternMomentsOf(const MleAnalysis& analysis,
                                                    const std::vector<IntegerMoments>& moments,
                                                    int fraction_bits);

// FitMoments by full information maximum likelihood, observed information. The result's tables are
// the rows of every pattern and the share of missing values of every variable. Throws kBadInput as
// stats::FitFiml.
MleResult FitPatterns(const MleAnalysis& analysis, const std::vector<IntegerMoments>& moments,
                      int fraction_bits, Progress& progress);

}  // namespace partita::methods::mle
