// Incomplete rows in a sealed fit: the patterns of a study as samples of its analysis.
//
// Every pattern is a cell of rows (moments_task.h) whose moments stay on shares. Patterns that are
// equal on the variables of the analysis are added up, those without any of them left out; both
// follow from the study file alone and are local.
#pragma once

#include <vector>

#include "methods/mle/fit/analysis.h"
#include "methods/mle/sealed/sample.h"
#include "mpc/engine.h"

namespace partita::methods::mle {

// Fills in groups, group_of and observed of `sums`. cells: by group and, within it, by pattern
// (MleAnalysis::patterns).
void AddPatterns(mpc::Engine& engine, const MleAnalysis& analysis,
                 const std::vector<SharedMoments>& cells, SealedSums& sums);

// Rows of every group that have any of the variables: 1 x groups.
mpc::Shared GroupSizesOf(mpc::Engine& engine, const MleAnalysis& analysis, const SealedSums& sums);

}  // namespace partita::methods::mle
