// partita reproduce dpvi-figure2, dpvi-figure3: commands of `reproduce`.
#pragma once

#include "cli/commands.h"

namespace partita::papers {

void AddReproduceDpvi(CLI::App& reproduce, cli::Invocation& invocation);

}  // namespace partita::papers
