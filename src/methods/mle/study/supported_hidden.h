// What method `mle` can do where nobody knows which rows of a block match (level hidden).
#pragma once

#include "methods/mle/study/study.h"

namespace partita::methods::mle {

// Refuses by name what would show rows or their number, or take rows that do not match for rows.
// Throws kBadInput. Before the models are read.
void RequireSupportedHidden(const MleStudy& study);

// Refuses checks of anything but the number of rows: a holder knows its cells, so that an answer about few
// of them is one about whether its rows match. Throws kBadInput. After the checks are planned.
void RequireHiddenChecks(const MleStudy& study);

}  // namespace partita::methods::mle
