// What method and protocol can do with a design: everything that the study file may declare and
// this version does not compute is refused when the study is planned, by name and with a way out.
#pragma once

#include <string>

#include "methods/mle/study/study.h"

namespace partita::methods::mle {

// [design], before the models are read. Throws kBadInput.
void RequireSupportedDesign(const MleStudy& study);

// Every analysis against design, partition and its releases. Needs the computations.
void RequireSupportedAnalyses(const MleStudy& study);

}  // namespace partita::methods::mle
