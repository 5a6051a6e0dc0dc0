// partita reproduce registries: a command of `reproduce`.
#pragma once

#include "cli/commands.h"

namespace partita::papers {

void AddReproduceRegistries(CLI::App& reproduce, cli::Invocation& invocation);

}  // namespace partita::papers
