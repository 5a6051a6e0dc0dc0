// What every command prints with --format json, as JSON Schema (draft-07): what --schema shows.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace partita::cli {

// command: "study plan", "cert new", "demo", ... text: its file in docs/schemas.
struct CommandSchema {
  std::string_view command, text;
};

// Made during the build (cmake/schemas.mjs) and part of the program.
std::span<const CommandSchema> CommandSchemas();

// Throws kInternal for a command without a schema.
std::string OutputSchema(const std::string& command);

}  // namespace partita::cli
