// partita reproduce aslett-fdp: a command of `reproduce`.
#pragma once

#include "cli/commands.h"

namespace partita::cli {

void AddReproduceAslett(CLI::App& reproduce, Invocation& invocation);

}  // namespace partita::cli
