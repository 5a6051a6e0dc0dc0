// What `partita privacy ...` prints.
#include "cli/schema_parts.h"

namespace partita::cli {
namespace {

// A number, or the word "infinite".
Json Bound() { return {{"type", {"number", "string"}}}; }
Json IntervalSchema() { return Object({{"lower", Bound()}, {"upper", Bound()}}); }

Json StatementSchema() {
  const Json row = Object({{"adversary", Type("object")},
                           {"adjacency", Type("string")},
                           {"epsilon", {{"type", {"object", "string"}}}},
                           {"reason", Type("string")},
                           {"sentence", Type("string")}});
  return Object(
      {{"mechanism", Type("string")}, {"rows", ListOf(row)}, {"caveats", ListOf(Type("string"))}});
}

// Of every command.
Json Common(const Json& more) {
  const Json mechanism = Object({{"text", Type("string")}, {"steps", Type("integer")}});
  Json properties = {
      {"adjacency", Type("string")}, {"delta", Type("number")}, {"mechanisms", ListOf(mechanism)}};
  properties.update(more);
  return Object(properties);
}

Json Answer(const Json& more) {
  Json properties = {{"epsilon", IntervalSchema()},
                     {"reached", Type("boolean")},
                     {"statement", StatementSchema()}};
  properties.update(more);
  return Common(properties);
}

Json Curve() {
  const Json profile = Object({{"epsilon", Type("number")}, {"delta", IntervalSchema()}});
  const Json point = Object(
      {{"alpha", Type("number")}, {"beta_lower", Type("number")}, {"beta_upper", Type("number")}});
  return Answer({{"profile", ListOf(profile)},
                 {"trade_off", ListOf(point)},
                 {"advantage", IntervalSchema()},
                 {"plot", Nullable("string")},
                 {"csv", Nullable("string")}});
}

Json Compose() {
  const Json part =
      Object({{"text", Type("string")}, {"steps", Type("integer")}, {"epsilon", IntervalSchema()}});
  return Answer({{"parts", ListOf(part)}});
}

Json PrivacyComparison() {
  const Json accountant = Object({{"name", Type("string")},
                                  {"applicable", Type("boolean")},
                                  {"is_bound", Type("boolean")},
                                  {"epsilon", IntervalSchema()},
                                  {"what", Type("string")}});
  return Common({{"accountants", ListOf(accountant)}});
}

}  // namespace

std::optional<Json> PrivacySchema(const std::string& command) {
  if (command == "privacy eps") return Answer(Json::object());
  if (command == "privacy compose") return Compose();
  if (command == "privacy sigma") {
    return Answer({{"parameter", Type("string")},
                   {"value", Type("number")},
                   {"budget_epsilon", Type("number")}});
  }
  if (command == "privacy steps") {
    return Common({{"steps", Type("integer")},
                   {"largest", Type("boolean")},
                   {"budget_epsilon", Type("number")},
                   {"epsilon", IntervalSchema()},
                   {"statement", {{"type", {"object", "null"}}}}});
  }
  if (command == "privacy curve") return Curve();
  if (command == "privacy compare") return PrivacyComparison();
  return std::nullopt;
}

}  // namespace partita::cli
