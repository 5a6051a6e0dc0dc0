// The option --separator of commands that read a table.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace partita::cli {

// otherwise: what is taken where it is not given, for --help.
void AddSeparator(CLI::App& command, std::string& separator, const std::string& otherwise);
// Nothing where it is not given.
std::optional<char> SeparatorOf(const std::string& given);

}  // namespace partita::cli
