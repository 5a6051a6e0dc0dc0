// What every command prints with --format json, as JSON Schema (draft 2020-12): what --schema
// shows.
#pragma once

#include <string>

namespace partita::cli {

// command: "study plan", "cert new", "demo", ... Throws kInternal for an unknown one.
std::string OutputSchema(const std::string& command);

}  // namespace partita::cli
