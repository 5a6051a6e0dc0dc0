// The patterns of missing values of a study's design.
#pragma once

#include <string>
#include <vector>

#include "methods/mle/study/study.h"

namespace partita::methods::mle {

// "complete rows", "rows without x4 and x7".
std::string PatternText(const study::MissingPattern& pattern);

// Whether rows with the pattern have no value of the column.
bool Lacks(const study::MissingPattern& pattern, const data::DesignColumn& column);

// What to do about patterns of which too few rows are there, where `failed` checks count some (else
// empty), with what it costs of the rows that this party has: for its eyes only. blocks: by
// computation and block, as LocalRows has them.
std::string RarePatternsHint(const MleStudy& study, const std::vector<DisclosureCheck>& failed,
                             const std::vector<std::vector<LocalBlock>>& blocks);

// Whether somebody holds the variable for the rows of the block.
bool BlockHas(const MleStudy& study, size_t block, const std::string& variable);

// Whether rows of the block can have the pattern: somebody holds every variable that it has.
bool BlockAllows(const MleStudy& study, size_t block, const study::MissingPattern& pattern);

}  // namespace partita::methods::mle
