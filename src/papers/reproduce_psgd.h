// partita reproduce psgd-figure1, psgd-figure2: commands of `reproduce`.
#pragma once

#include "cli/commands.h"

namespace partita::papers {

void AddReproducePsgd(CLI::App& reproduce, cli::Invocation& invocation);

}  // namespace partita::papers
