// What method `glm` can do where nobody knows which rows of a block match (level hidden).
//
// Method    Level `sealed`, where every holder's presence at a position is one more choice that leaves
//           rows out (sealed/layout.h). Nothing but whether there are enough rows opens to holders: the
//           other counts, and collinear columns, are failures of the fit (counts.h, sealed/fitter.h),
//           which the receiver alone sees as one answer.
#pragma once

#include <string>

#include "methods/glm/study.h"

namespace partita::methods::glm {

// Throws kBadInput, with the place, for what would show a holder which of its rows match: levels that
// open more, a receiver with such rows, results to all, another block, a subset of the analysis.
void RequireSupportedHidden(const GlmStudy& study);

// Of a check that is a failure of the fit: the clause that its rule ends in; empty for rows that are
// not hidden.
std::string NotToldText(const Task& task);

// What the plan assumes, and who sees what.
std::string HiddenText(const GlmStudy& study);

}  // namespace partita::methods::glm
