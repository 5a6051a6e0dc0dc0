// `partita regression logistic`.
#pragma once

#include "cli/commands.h"

namespace partita::cli {

// A command of `regression`.
void AddLogistic(CLI::App& parent, Invocation& invocation);

}  // namespace partita::cli
