// Words of JSON Schema that the commands' schemas are made of. Private to schemas.cc and its parts.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "cli/json.h"

namespace partita::cli {

inline Json Type(const char* type) { return {{"type", type}}; }
inline Json ListOf(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }
inline Json Nullable(const char* type) { return {{"type", {type, "null"}}}; }

// An object of which all properties are always there; more may be added by later releases.
inline Json Object(Json properties) {
  Json required = Json::array();
  for (const auto& [key, value] : properties.items()) required.push_back(key);
  return {{"type", "object"}, {"required", required}, {"properties", std::move(properties)}};
}

// data ..., doctor and study rehearse; empty for other commands.
std::optional<Json> StewardSchema(const std::string& command);
// ledger ...; empty for other commands.
std::optional<Json> LedgerSchema(const std::string& command);
// privacy ...; empty for other commands.
std::optional<Json> PrivacySchema(const std::string& command);
// correlations ...; empty for other commands.
std::optional<Json> CorrelationSchema(const std::string& command);
// collection ..., compute, client ..., aggregate.
std::optional<Json> CollectionSchema(const std::string& command);
// synthetic ...; empty for other commands.
std::optional<Json> SyntheticSchema(const std::string& command);
// study prior; empty for other commands.
std::optional<Json> PriorSchema(const std::string& command);
// sem ...; empty for other commands.
std::optional<Json> SemSchema(const std::string& command);
// reproduce smle-...
std::optional<Json> SmleSchema(const std::string& command);
// audit ...
std::optional<Json> AuditSchema(const std::string& command);

}  // namespace partita::cli
