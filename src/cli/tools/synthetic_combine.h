// partita synthetic combine: one interval from the estimates of several synthetic tables.
#pragma once

#include "cli/commands.h"

namespace partita::cli {

void AddCombine(CLI::App& synthetic, Invocation& invocation);

}  // namespace partita::cli
