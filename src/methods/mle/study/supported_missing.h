// What method `mle` can do with missing values. Private to supported.cc; everything throws
// kBadInput.
#pragma once

#include "methods/mle/study/study.h"

namespace partita::methods::mle {

// `missing` and its patterns, before the models are read.
void RequireSupportedMissing(const MleStudy& study);

// That patterns lack variables of models only. Needs the computations.
void RequireSupportedPatterns(const MleStudy& study);

// One analysis of incomplete rows. Needs the computations.
void RequireSupportedIncomplete(const MleStudy& study, size_t analysis);

}  // namespace partita::methods::mle
