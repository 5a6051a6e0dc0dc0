// The tables that follow the fits of a study at their receiver: those of the family, and what the
// study asked for. Everything is computed from what the receiver has: nothing more is opened.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "methods/mle/fit/analysis.h"
#include "methods/mle/fit/result.h"

namespace partita::methods::mle {

// The parametric bootstrap (stats/sem/bootstrap.h) of the := rows, or of all free parameters where
// there are none. The draws depend on `draws` alone: the same fit gets the same intervals. Throws
// kBadInput as ParametricBootstrap.
CellTable BootstrapTable(const MleResult& result, size_t draws, Progress& progress);

// Fills in the family and adds to the tables of results[a] of analyses[a] (those with nested_in,
// bootstrap or modification_indices among others). moments[a]: the opened ones, empty where none
// were; needed for modification indices only. Where a table cannot be made, a note of the result
// says why: a run must not lose its fits for it.
void AddTables(const std::vector<const MleAnalysis*>& analyses,
               const std::vector<std::vector<stats::GroupMoments>>& moments,
               std::vector<MleResult>& results, Progress& progress);

}  // namespace partita::methods::mle
