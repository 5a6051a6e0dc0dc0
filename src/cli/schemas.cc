#include "cli/schemas.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/output.h"

namespace partita::cli {
namespace {

using Json = nlohmann::ordered_json;

Json Type(const char* type) { return {{"type", type}}; }
Json ListOf(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }
Json Nullable(const char* type) { return {{"type", {type, "null"}}}; }

// An object of which all properties are always there; more may be added by later releases.
Json Object(Json properties) {
  Json required = Json::array();
  for (const auto& [key, value] : properties.items()) required.push_back(key);
  return {{"type", "object"}, {"required", required}, {"properties", std::move(properties)}};
}

Json Release() {
  return Object({{"id", Type("string")},
                 {"what", Type("string")},
                 {"to", Type("string")},
                 {"mechanism", Type("string")},
                 {"max_count", Type("integer")}});
}

Json Plan() {
  const Json party = Object({{"name", Type("string")},
                             {"roles", ListOf(Type("string"))},
                             {"contributes", Type("string")},
                             {"learns", ListOf(Type("string"))}});
  const Json link = Object({{"from", Type("string")},
                            {"to", Type("string")},
                            {"messages", Type("integer")},
                            {"bytes", Type("integer")}});
  const Json phase =
      Object({{"name", Type("string")}, {"rounds", Type("integer")}, {"links", ListOf(link)}});
  return Object({{"study", Type("string")},
                 {"method", Type("string")},
                 {"protocol", Type("string")},
                 {"engine", Type("string")},
                 {"partition", Type("string")},
                 {"parties", ListOf(party)},
                 {"leakage_level", Type("string")},
                 {"releases", ListOf(Release())},
                 {"assumptions", ListOf(Type("string"))},
                 {"phases", ListOf(phase)},
                 {"totals", Object({{"rounds", Type("integer")},
                                    {"messages", Type("integer")},
                                    {"bytes", Type("integer")}})}});
}

Json Result() {
  const Json parameter = Object({{"lhs", Type("string")},
                                 {"op", Type("string")},
                                 {"rhs", Type("string")},
                                 {"group", Type("integer")},
                                 {"label", Type("string")},
                                 {"free", Type("integer")},
                                 {"est", Nullable("number")},
                                 {"se", Nullable("number")},
                                 {"z", Nullable("number")},
                                 {"pvalue", Nullable("number")},
                                 {"ci.lower", Nullable("number")},
                                 {"ci.upper", Nullable("number")},
                                 {"std.lv", Nullable("number")},
                                 {"std.all", Nullable("number")}});
  const Json phase = Object({{"phase", Type("string")},
                             {"rounds", Type("integer")},
                             {"bytes_sent", Type("integer")},
                             {"bytes_received", Type("integer")},
                             {"seconds", Type("number")}});
  return Object({{"schema_version", Type("integer")},
                 {"status", Type("string")},
                 {"study", Type("object")},
                 {"party", Type("string")},
                 {"hashes", Type("object")},
                 {"convergence", Type("object")},
                 {"warnings", ListOf(Type("string"))},
                 {"parameters", ListOf(parameter)},
                 {"fit", Type("object")},
                 {"vcov", Type("object")},
                 {"traffic", ListOf(phase)},
                 {"seconds_total", Type("number")},
                 {"releases", ListOf(Release())},
                 {"learned", ListOf(Type("object"))},
                 {"plan", Type("object")}});
}

Json Certificate() {
  return Object({{"party", Type("string")},
                 {"valid_from", Type("string")},
                 {"valid_until", Type("string")},
                 {"fingerprint", Type("string")}});
}

// Numbers that may be "infinite".
Json Interval() {
  const Json number = {{"type", {"number", "string"}}};
  return Object({{"lower", number}, {"upper", number}});
}

Json Privacy(const std::string& command) {
  if (command == "privacy eps" || command == "privacy compose") {
    const Json row = Object({{"adjacency", Type("string")},
                             {"epsilon", Interval()},
                             {"forward", Interval()},
                             {"backward", Interval()},
                             {"reached", Type("boolean")}});
    return Object({{"mechanisms", ListOf(Type("string"))}, {"delta", Type("number")}, {"results", ListOf(row)}});
  }
  if (command == "privacy curve") {
    const Json point = Object({{"epsilon", Type("number")}, {"delta", Interval()}});
    const Json attack = Object({{"false_positive_rate", Type("number")}, {"power", Interval()}});
    return Object({{"mechanism", Type("string")},
                   {"steps", Type("integer")},
                   {"profile", ListOf(point)},
                   {"attacks", ListOf(attack)}});
  }
  if (command == "privacy compare") {
    const Json row = Object({{"adjacency", Type("string")},
                             {"accountant", Type("string")},
                             {"epsilon", Interval()},
                             {"is_bound", Type("boolean")}});
    return Object({{"delta", Type("number")}, {"results", ListOf(row)}});
  }
  return Object({{command == "privacy sigma" ? "noise" : "steps", Type("number")},
                 {"epsilon", Interval()},
                 {"delta", Type("number")},
                 {"adjacency", Type("string")}});
}

Json Data(const std::string& command) {
  if (command.starts_with("privacy ")) return Privacy(command);
  if (command == "study new") return Object({{"file", Type("string")}});
  if (command == "study validate") {
    return Object({{"study", Type("string")},
                   {"parties", Type("integer")},
                   {"partition", Type("string")},
                   {"variables", Type("integer")},
                   {"free_parameters", Type("integer")}});
  }
  if (command == "study plan") {
    Json plan = Plan();
    plan["properties"]["plan_hash"] = Type("string");
    plan["required"].push_back("plan_hash");
    return plan;
  }
  if (command == "study simulate" || command == "study report" || command == "demo")
    return Result();
  if (command == "study join") {
    // Parties other than the receiver print the same without the statistics.
    return {
        {"type", "object"},
        {"required",
         {"schema_version", "status", "study", "party", "hashes", "traffic", "learned", "plan"}}};
  }
  if (command == "cert new" || command == "cert show") return Certificate();
  if (command == "cert roster") {
    return Object({{"parties", ListOf(Object({{"name", Type("string")},
                                              {"address", Type("string")},
                                              {"fingerprint", Type("string")}}))}});
  }
  throw Error(ErrorCode::kInternal, "no schema for the command " + command);
}

}  // namespace

std::string OutputSchema(const std::string& command) {
  const Json version = {{"const", kEnvelopeSchemaVersion}};
  const Json success = Object({{"schema_version", version},
                               {"status", {{"enum", {"done", "not-converged"}}}},
                               {"data", Data(command)}});
  const Json failure = Object({{"schema_version", version},
                               {"status", {{"const", "error"}}},
                               {"error_code", Type("string")},
                               {"message", Type("string")},
                               {"hint", Type("string")}});
  const Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                       {"title", "partita " + command},
                       {"oneOf", {success, failure}}};
  return schema.dump(2);
}

}  // namespace partita::cli
