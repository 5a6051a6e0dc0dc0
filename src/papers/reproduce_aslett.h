// partita reproduce aslett-fdp: a command of `reproduce`.
#pragma once

#include "cli/commands.h"

namespace partita::papers {

void AddReproduceAslett(CLI::App& reproduce, cli::Invocation& invocation);

}  // namespace partita::papers
