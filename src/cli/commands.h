// The commands: each registers itself with the parser and leaves what to run in `run`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/output.h"

namespace partita::cli {

// What the parsed command line asks for. `run` returns an exit code or throws Error.
struct Invocation {
  OutputOptions output;
  std::function<int()> run;
};

// --format and --quiet, for every command.
void AddOutputOptions(CLI::App& command, Invocation& invocation);

void AddStudyCommands(CLI::App& app, Invocation& invocation);
void AddCertCommands(CLI::App& app, Invocation& invocation);
void AddDemoCommand(CLI::App& app, Invocation& invocation);

}  // namespace partita::cli
