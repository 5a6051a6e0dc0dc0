// What `partita audit ...` prints.
#include "cli/schema_parts.h"

namespace partita::cli {

std::optional<Json> AuditSchema(const std::string& command) {
  const Json count = Object({{"hits", Type("integer")}, {"runs", Type("integer")}});
  const Json finding = Object({{"adversary", Type("string")},
                               {"measure", Type("string")},
                               {"claimed", Nullable("number")},
                               {"at_least", Nullable("number")},
                               {"violated", Type("boolean")},
                               {"event", Type("string")},
                               {"first", count},
                               {"second", count}});
  const Json claim = Object(
      {{"epsilon", Nullable("number")}, {"delta", Nullable("number")}, {"mu", Nullable("number")}});
  Json audit = {{"what", Type("string")},      {"claim", claim},
                {"runs", Type("integer")},     {"alpha", Type("number")},
                {"findings", ListOf(finding)}, {"violated", Type("boolean")}};
  if (command == "audit mechanism" || command == "audit outputs") return Object(audit);
  if (command == "audit study") {
    audit["replay"] = ListOf(Type("string"));
    return Object(audit);
  }
  if (command == "audit runs") return Object({{"runs", Type("integer")}});
  return std::nullopt;
}

}  // namespace partita::cli
