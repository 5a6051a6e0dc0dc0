#include "cli/terminal/schemas.h"

#include "base/error.h"

namespace partita::cli {

std::string OutputSchema(const std::string& command) {
  for (const CommandSchema& schema : CommandSchemas()) {
    if (schema.command == command) return std::string(schema.text);
  }
  throw Error(ErrorCode::kInternal, "no schema for the command " + command);
}

}  // namespace partita::cli
