// partita reproduce psgd-figure1, psgd-figure2: commands of `reproduce`.
#pragma once

#include "cli/commands.h"

namespace partita::cli {

void AddReproducePsgd(CLI::App& reproduce, Invocation& invocation);

}  // namespace partita::cli
