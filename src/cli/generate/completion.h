// Completion of commands, options and their values, as a script that a shell reads. No script runs
// the program; where anything else is asked for, files are offered.
#pragma once

#include <string>

#include "cli/generate/command_tree.h"

namespace partita::cli {

std::string BashCompletion(const CommandNode& root);
std::string ZshCompletion(const CommandNode& root);
std::string FishCompletion(const CommandNode& root);

}  // namespace partita::cli
