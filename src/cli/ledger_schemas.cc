// What the commands of `ledger` print.
#include "cli/schema_parts.h"

namespace partita::cli {
namespace {

Json Standing() {
  const Json reservation = Object({{"number", Type("integer")}, {"study", Type("string")}});
  Json standing = Object({{"policy", Type("object")},
                          {"outside", Type("object")},
                          {"exact_spent", Type("integer")},
                          {"exact_reserved", Type("integer")},
                          {"exact_values_spent", Type("integer")},
                          {"studies_spent", Type("integer")},
                          {"studies_open", Type("integer")},
                          {"policy_changes", Type("integer")},
                          {"pseudonym", Type("string")},
                          {"sequence", Type("integer")},
                          {"hash", Type("string")},
                          {"qualifications", ListOf(Type("string"))},
                          {"open_reservations", ListOf(reservation)}});
  standing["properties"]["insider"] = Type("object");
  return standing;
}

}  // namespace

std::optional<Json> LedgerSchema(const std::string& command) {
  if (command == "ledger open" || command == "ledger change" || command == "ledger refund")
    return Standing();
  if (command == "ledger show") return Object({{"tables", ListOf(Standing())}});
  if (command == "ledger history") {
    const Json entry = Object({{"sequence", Type("integer")},
                               {"at", Type("integer")},
                               {"by", Type("string")},
                               {"kind", Type("string")},
                               {"hash", Type("string")}});
    return Object({{"pseudonym", Type("string")}, {"entries", ListOf(entry)}});
  }
  if (command == "ledger price") {
    return Object({{"study", Type("string")},
                   {"table", Type("string")},
                   {"outside_percent", Type("number")},
                   {"insider_percent", Type("number")},
                   {"exact_releases", Type("integer")},
                   {"studies_left", Nullable("integer")}});
  }
  if (command == "ledger verify" || command == "ledger upgrade") {
    return Object({{"file", Type("string")},
                   {"tables", Type("integer")},
                   {"entries", Type("integer")},
                   {"journal_rows", Type("integer")},
                   {"receipts", Type("integer")},
                   {"taken_over", Type("boolean")},
                   {"seen", Type("boolean")}});
  }
  if (command == "ledger export")
    return Object({{"table", Type("string")}, {"file", Type("string")}});
  return std::nullopt;
}

}  // namespace partita::cli
