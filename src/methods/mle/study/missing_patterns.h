// The patterns of missing values of a study's design.
#pragma once

#include <string>

#include "methods/mle/study/study.h"

namespace partita::methods::mle {

// "complete rows", "rows without x4 and x7".
std::string PatternText(const study::MissingPattern& pattern);

// Whether somebody holds the variable for the rows of the block.
bool BlockHas(const MleStudy& study, size_t block, const std::string& variable);

// Whether rows of the block can have the pattern: somebody holds every variable that it has.
bool BlockAllows(const MleStudy& study, size_t block, const study::MissingPattern& pattern);

}  // namespace partita::methods::mle
