#include "cli/schemas.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/output.h"
#include "cli/schema_parts.h"

namespace partita::cli {
namespace {

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
  const Json totals = Object(
      {{"rounds", Type("integer")}, {"messages", Type("integer")}, {"bytes", Type("integer")}});
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
                 {"totals", totals},
                 {"preparation", ListOf(phase)},
                 {"preparation_totals", totals}});
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
  const Json analysis = Object({{"name", Type("string")},
                                {"status", Type("string")},
                                {"model", Type("object")},
                                {"convergence", Type("object")},
                                {"warnings", ListOf(Type("string"))},
                                {"parameters", ListOf(parameter)},
                                {"fit", Type("object")},
                                {"vcov", Type("object")}});
  const Json statement = Object({{"about", Type("string")}, {"text", Type("string")}});
  return Object({{"schema_version", Type("integer")},
                 {"status", Type("string")},
                 {"study", Type("object")},
                 {"party", Type("string")},
                 {"hashes", Type("object")},
                 {"analyses", ListOf(analysis)},
                 {"statements", ListOf(statement)},
                 {"methods", Type("string")},
                 {"approvals", ListOf(Type("object"))},
                 {"rows", ListOf(Type("object"))},
                 {"privacy", ListOf(Type("string"))},
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

// An approval, a rejection or an envelope, as it was written or as it was verified.
Json SignedDocument(bool with_file) {
  Json document = Object({{"kind", {{"enum", {"approval", "envelope"}}}},
                          {"party", Type("string")},
                          {"valid_until", Type("string")}});
  const auto require = [&](const char* name, const char* type) {
    document["properties"][name] = Type(type);
    document["required"].push_back(name);
  };
  if (with_file) {
    require("file", "string");
    return document;
  }
  require("fingerprint", "string");
  require("compared_with_roster", "boolean");
  return document;
}

Json Regression() {
  const Json coefficient = Object({{"name", Type("string")},
                                   {"mean", Type("number")},
                                   {"stddev", Type("number")},
                                   {"lower", Type("number")},
                                   {"upper", Type("number")},
                                   {"positive", Type("number")},
                                   {"noise_factor", Type("number")}});
  const Json column =
      Object({{"name", Type("string")}, {"lower", Type("number")}, {"upper", Type("number")}});
  return Object({{"outcome", Type("string")},
                 {"estimator", Type("string")},
                 {"level", Type("number")},
                 {"rows", Type("integer")},
                 {"residual_stddev", Type("number")},
                 {"noise_stddev", Type("number")},
                 {"negative_eigenvalues", Type("integer")},
                 {"coefficients", ListOf(coefficient)},
                 {"columns", ListOf(column)},
                 {"statements", ListOf(Type("object"))},
                 {"warnings", ListOf(Type("string"))}});
}

Json DataSchema(const std::string& command) {
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
  if (command == "study approve") return SignedDocument(/*with_file=*/true);
  if (command == "study reject") return SignedDocument(/*with_file=*/true);
  if (command == "study approval") return SignedDocument(/*with_file=*/false);
  if (command == "cert new" || command == "cert show") return Certificate();
  if (command == "cert roster") {
    return Object({{"parties", ListOf(Object({{"name", Type("string")},
                                              {"address", Type("string")},
                                              {"fingerprint", Type("string")}}))}});
  }
  if (command == "regression encode") {
    return Object({{"output", Type("string")}, {"length", Type("integer")}});
  }
  if (command == "regression fit") return Regression();
  if (command == "regression simulate") {
    Json fit = Regression();
    fit["type"] = {"object", "null"};
    return Object({{"rows", Type("integer")}, {"sum", Type("string")}, {"fit", fit}});
  }
  if (command == "regression logistic") {
    const Json of_posterior = {{"type", {"number", "null"}}};  // null: an estimate alone
    const Json coefficient = Object({{"name", Type("string")},
                                     {"mean", Type("number")},
                                     {"stddev", of_posterior},
                                     {"lower", of_posterior},
                                     {"upper", of_posterior}});
    return Object({{"outcome", Type("string")},
                   {"trainer", Type("string")},
                   {"rows", Type("integer")},
                   {"sums", Type("integer")},
                   {"epochs", Type("integer")},
                   {"batch", Type("integer")},
                   {"clip_norm", Type("number")},
                   {"noise_stddev", Type("number")},
                   {"coefficients", ListOf(coefficient)},
                   {"statement", Type("object")}});
  }
  if (command == "regression predict") {
    const Json prediction =
        Object({{"mean", Type("number")}, {"lower", Type("number")}, {"upper", Type("number")}});
    return Object({{"outcome", Type("string")},
                   {"level", Type("number")},
                   {"predictions", ListOf(prediction)}});
  }
  if (command == "regression bounds") {
    return Object({{"features_threshold", Type("number")},
                   {"outcome_threshold", Type("number")},
                   {"clip", Type("object")}});
  }
  if (command == "reproduce dca-table1") {
    const Json row = Object({{"clients", Type("integer")},
                             {"length", Type("integer")},
                             {"wall_seconds", Type("number")},
                             {"cpu_seconds", Type("number")},
                             {"upload_bytes", Type("integer")},
                             {"paper_seconds", Nullable("number")}});
    return Object({{"rows", ListOf(row)}});
  }
  if (command == "reproduce dca-figure1b") {
    return Object({{"rows", ListOf(Object({{"clients", Type("integer")},
                                           {"colluding", Type("integer")},
                                           {"variance_factor", Type("number")}}))}});
  }
  if (command == "reproduce dca-figure2") {
    return Object({{"rows", ListOf(Object({{"table", Type("string")},
                                           {"epsilon", Type("number")},
                                           {"method", Type("string")},
                                           {"median_mae", Type("number")},
                                           {"q25_mae", Type("number")},
                                           {"q75_mae", Type("number")},
                                           {"median_coefficient_rmse", Type("number")},
                                           {"mean_interval_width", Type("number")}}))}});
  }
  if (command == "reproduce dpvi-figure2" || command == "reproduce dpvi-figure3") {
    const Json point = Object({{"step", Type("integer")},
                               {"epochs", Type("number")},
                               {"test_negative_log_likelihood", Type("number")},
                               {"difference", Type("number")}});
    return Object({{"runs", ListOf(Object({{"line", Type("string")},
                                           {"schedule", Type("string")},
                                           {"repeat", Type("integer")},
                                           {"active_components", Type("integer")},
                                           {"predictive_negative_log_likelihood", Type("number")},
                                           {"max_uses", Type("integer")},
                                           {"largest_difference", Type("number")},
                                           {"seconds", Type("number")},
                                           {"trace", ListOf(point)}}))},
                   {"privacy", Type("object")}});
  }
  if (command == "reproduce aslett-fdp") {
    return Object({{"lines", ListOf(Object({{"decisions", Type("integer")},
                                            {"sensitivity", Type("number")},
                                            {"adversary", Type("string")},
                                            {"line", Type("string")},
                                            {"side", {{"enum", {"exact", "at least", "at most"}}}},
                                            {"advantage", Type("number")},
                                            {"beta_at_5_percent", Type("number")}}))}});
  }
  if (command == "reproduce registries") {
    return Object({{"rows", ListOf(Object({{"events_per_registry", Type("number")},
                                           {"analysis", Type("string")},
                                           {"data_sets", Type("integer")},
                                           {"estimates", Type("integer")},
                                           {"bias", Nullable("number")},
                                           {"bias_error", Nullable("number")},
                                           {"rmse", Nullable("number")},
                                           {"coverage", Nullable("number")},
                                           {"coverage_error", Nullable("number")},
                                           {"mean_width", Nullable("number")},
                                           {"registries_used", Nullable("number")}}))},
                   {"largest_rhat", Type("number")}});
  }
  if (command == "reproduce psgd-figure1" || command == "reproduce psgd-figure2") {
    return Object({{"rows", ListOf(Object({{"panel", Type("string")},
                                           {"position", Type("integer")},
                                           {"epsilon", Type("number")},
                                           {"line", Type("string")},
                                           {"mean_error", Type("number")},
                                           {"standard_error", Type("number")},
                                           {"data_sets", Type("integer")}}))},
                   {"slopes", ListOf(Object({{"panel", Type("string")},
                                             {"epsilon", Type("number")},
                                             {"against", Type("string")},
                                             {"slope", Type("number")},
                                             {"lower", Type("number")},
                                             {"upper", Type("number")},
                                             {"detectable", Type("number")}}))},
                   {"title", Type("string")}});
  }
  if (std::optional<Json> schema = SmleSchema(command)) return *schema;
  if (std::optional<Json> schema = PriorSchema(command)) return *schema;
  if (std::optional<Json> schema = SemSchema(command)) return *schema;
  if (std::optional<Json> schema = SyntheticSchema(command)) return *schema;
  if (std::optional<Json> schema = StewardSchema(command)) return *schema;
  if (std::optional<Json> schema = LedgerSchema(command)) return *schema;
  if (std::optional<Json> schema = PrivacySchema(command)) return *schema;
  if (std::optional<Json> schema = CorrelationSchema(command)) return *schema;
  if (std::optional<Json> schema = AuditSchema(command)) return *schema;
  if (std::optional<Json> schema = CollectionSchema(command)) return *schema;
  throw Error(ErrorCode::kInternal, "no schema for the command " + command);
}

}  // namespace

std::string OutputSchema(const std::string& command) {
  const Json version = {{"const", kEnvelopeSchemaVersion}};
  const Json success =
      Object({{"schema_version", version},
              {"status", {{"enum", {"done", "not-converged", "not-trained", "problems"}}}},
              {"data", DataSchema(command)}});
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
