// partita reproduce dpvi-figure2, dpvi-figure3: commands of `reproduce`.
#pragma once

#include "cli/commands.h"

namespace partita::cli {

void AddReproduceDpvi(CLI::App& reproduce, Invocation& invocation);

}  // namespace partita::cli
