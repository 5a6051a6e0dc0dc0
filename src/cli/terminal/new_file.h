// Files that commands write: one that exists is overwritten with --force only.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <string_view>

#include "cli/commands.h"

namespace partita::cli {

// Throws kUsage if `file` exists, unless forced, or if its folder can neither be written to nor be
// made; makes the folder.
void RequireNewFile(const std::filesystem::path& file, bool force);

// An option, or a positional argument, for a file that the command writes, and --force. main calls
// RequireNewFile for it before the command runs.
CLI::Option* AddNewFile(CLI::App& command, Invocation& invocation, const std::string& name,
                        std::string& file, const std::string& what);
// --force alone, of commands that find the names of their files by themselves.
void AddForce(CLI::App& command, Invocation& invocation);

// Writes what AddNewFile named, with `mode` (base/files.h).
void WriteOutput(const OutputOptions& output, const std::filesystem::path& file,
                 std::string_view content, mode_t mode, std::string_view what);

}  // namespace partita::cli
