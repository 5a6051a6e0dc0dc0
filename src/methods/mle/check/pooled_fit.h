// The plain fits of a rehearsal: of exact studies, and of imputed ones.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "data/table.h"
#include "methods/mle/fit/result.h"
#include "methods/mle/study/study.h"

namespace partita::methods::mle {

// By analysis. pooled: all rows with all columns of the dictionary; row_blocks: the block of each
// row. Subsets, incomplete rows, weights and effects of the site are treated as the study file
// says, on the whole table at once.
std::vector<MleResult> FitPooled(const MleStudy& study, data::Table pooled,
                                 const std::vector<std::string>& row_blocks, Progress& progress);

// Of a study with imputed values: all analyses, again and again with imputations of their own,
// drawn from the operating system's randomness. By repetition and analysis.
std::vector<std::vector<MleResult>> FitPooledImputations(const MleStudy& study, data::Table pooled,
                                                         const std::vector<std::string>& row_blocks,
                                                         size_t repetitions, Progress& progress);

}  // namespace partita::methods::mle
