// partita reproduce registries: a command of `reproduce`.
#pragma once

#include "cli/commands.h"

namespace partita::cli {

void AddReproduceRegistries(CLI::App& reproduce, Invocation& invocation);

}  // namespace partita::cli
