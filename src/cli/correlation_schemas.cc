// What the commands of `correlations` print.
#include "cli/schema_parts.h"

namespace partita::cli {
namespace {

Json Store() {
  const Json package =
      Object({{"number", Type("integer")}, {"bytes", Type("integer")}, {"demand", Type("string")}});
  return Object({{"file", Type("string")},
                 {"study", Type("string")},
                 {"study_file_hash", Type("string")},
                 {"generation", Type("string")},
                 {"parties", Type("integer")},
                 {"spent_below", Type("integer")},
                 {"unspent", Type("integer")},
                 {"packages", ListOf(package)}});
}

}  // namespace

std::optional<Json> CorrelationSchema(const std::string& command) {
  if (command == "correlations prepare") {
    return Object({{"study", Type("string")},
                   {"party", Type("string")},
                   {"file", Nullable("string")},
                   {"packages", ListOf(Type("integer"))},
                   {"package_bytes", Type("integer")},
                   {"unspent", Type("integer")},
                   {"generation", Type("string")},
                   {"run_id", Type("string")},
                   {"rounds", Type("integer")},
                   {"bytes_sent", Type("integer")},
                   {"bytes_received", Type("integer")},
                   {"seconds", Type("number")}});
  }
  if (command == "correlations list") {
    const Json unreadable = Object({{"file", Type("string")}, {"message", Type("string")}});
    return Object({{"stores", ListOf(Store())}, {"unreadable", ListOf(unreadable)}});
  }
  if (command == "correlations show") return Store();
  if (command == "correlations discard") {
    return Object(
        {{"file", Type("string")}, {"discarded", Type("integer")}, {"removed", Type("boolean")}});
  }
  return std::nullopt;
}

}  // namespace partita::cli
