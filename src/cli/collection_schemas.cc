// What the commands of private sums print.
#include "cli/schema_parts.h"

namespace partita::cli {
namespace {

Json Collection() {
  const Json node = Object(
      {{"name", Type("string")}, {"address", Type("string")}, {"fingerprint", Type("string")}});
  return Object({{"collection", Type("string")},
                 {"study", Type("string")},
                 {"epoch", Type("integer")},
                 {"deadline", Type("string")},
                 {"dimension", Type("integer")},
                 {"clients", Type("integer")},
                 {"max_drop", Type("integer")},
                 {"max_collude", Type("integer")},
                 {"admission", Type("string")},
                 {"nodes", ListOf(node)}});
}

Json CollectionPlan() {
  Json plan = Collection();
  const Json more = Object({{"upload_bytes", ListOf(Type("integer"))},
                            {"client_bytes", Type("integer")},
                            {"client_seconds", Type("number")},
                            {"node_bytes", Type("integer")},
                            {"ingest_seconds", Type("number")},
                            {"sum_seconds", Type("number")},
                            {"noise_stddev", Type("number")},
                            {"statement", Type("object")}});
  plan["properties"].update(more["properties"]);
  for (const Json& key : more["required"]) plan["required"].push_back(key);
  return plan;
}

Json Status() {
  return Object({{"node", Type("string")},
                 {"collection", Type("string")},
                 {"study", Type("string")},
                 {"epoch", Type("integer")},
                 {"state", Type("string")},
                 {"utc", Type("integer")},
                 {"counts", Type("object")},
                 {"queue", Type("object")}});
}

// Of a node that ran to its end, or with --status and --freeze of one that runs.
Json Compute() {
  const Json ended = Object({{"node", Type("string")},
                             {"state", Type("string")},
                             {"clients", Type("integer")},
                             {"status", Status()}});
  return {{"anyOf", {ended, Status()}}};
}

Json Submit() {
  const Json node = Object({{"node", Type("string")},
                            {"acknowledged", Type("boolean")},
                            {"answer", Type("string")},
                            {"problem", Type("string")},
                            {"attempts", Type("integer")}});
  return Object({{"client", Type("string")},
                 {"upload", Type("string")},
                 {"drawn", Type("boolean")},
                 {"clipped", ListOf(Type("string"))},
                 {"shortened", Type("boolean")},
                 {"acknowledged", Type("integer")},
                 {"nodes", ListOf(node)}});
}

Json Aggregate() {
  return Object({{"collection", Type("string")},
                 {"study", Type("string")},
                 {"epoch", Type("integer")},
                 {"clients", Type("integer")},
                 {"planned", Type("integer")},
                 {"values", ListOf(Type("number"))},
                 {"grid", ListOf(Type("string"))},
                 {"fraction_bits", Type("integer")},
                 {"noise_stddev", Type("number")},
                 {"statement", Type("object")},
                 {"ledger", {{"type", {"object", "null"}}}}});
}

}  // namespace

std::optional<Json> CollectionSchema(const std::string& command) {
  if (command == "collection check") return Collection();
  if (command == "collection plan") return CollectionPlan();
  if (command == "collection node") {
    return Object({{"name", Type("string")},
                   {"address", Type("string")},
                   {"fingerprint", Type("string")},
                   {"box_key", Type("string")},
                   {"table", Type("string")}});
  }
  if (command == "compute") return Compute();
  if (command == "compute-worker")
    return Object({{"node", Type("string")}, {"chunks", Type("integer")}});
  if (command == "aggregate") return Aggregate();
  if (command == "client keygen")
    return Object({{"client", Type("string")}, {"key", Type("string")}});
  if (command == "client register") {
    return Object(
        {{"list", Type("string")}, {"added", Type("integer")}, {"clients", Type("integer")}});
  }
  if (command == "client invite") {
    return Object({{"tokens", Type("integer")},
                   {"folder", Type("string")},
                   {"lists", ListOf(Type("string"))}});
  }
  if (command == "client submit") return Submit();
  return std::nullopt;
}

}  // namespace partita::cli
