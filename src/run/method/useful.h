// Whether a private study is worth its charge, by what its method foresees (Study::Utility).
#pragma once

#include "run/method/study.h"

namespace partita::run {

// Throws kRefused, saying why the result would hardly be useful and what would help, unless
// `accept` (--accept-useless).
void RequireUseful(const Study& study, bool accept);

}  // namespace partita::run
