// What the commands of stewards and operators print: `data`, `doctor`, `study rehearse`, `bench`.
#include "cli/schema_parts.h"

namespace partita::cli {
namespace {

Json TableDescription() {
  const Json column = Object({{"name", Type("string")},
                              {"type", Type("string")},
                              {"cells", Type("integer")},
                              {"missing", Type("integer")},
                              {"different", Type("integer")}});
  return Object({{"file", Type("string")},
                 {"rows", Type("integer")},
                 {"columns", ListOf(column)},
                 {"draft", Nullable("string")},
                 {"output", Nullable("string")}});
}

Json Check() {
  const Json problem = Object({{"severity", Type("string")},
                               {"column", Type("string")},
                               {"what", Type("string")},
                               {"fix", Type("string")},
                               {"count", Type("integer")},
                               {"lines", ListOf(Type("integer"))}});
  return Object({{"file", Type("string")},
                 {"rows", Type("integer")},
                 {"usable", Type("boolean")},
                 {"problems", ListOf(problem)},
                 {"share", Nullable("string")}});
}

Json TableComparison() {
  const Json problem = Object({{"severity", Type("string")},
                               {"column", Type("string")},
                               {"parties", ListOf(Type("string"))},
                               {"what", Type("string")},
                               {"fix", Type("string")}});
  return Object({{"parties", Type("integer")}, {"problems", ListOf(problem)}});
}

Json Mock() {
  const Json file = Object({{"party", Type("string")}, {"file", Type("string")}});
  return Object({{"rows", Type("integer")}, {"files", ListOf(file)}});
}

Json Doctor() {
  const Json check = Object({{"name", Type("string")},
                             {"verdict", Type("string")},
                             {"found", Type("string")},
                             {"fix", Type("string")}});
  return Object({{"checks", ListOf(check)}});
}

Json BenchMpc() {
  const Json row = Object({{"operation", Type("string")},
                           {"size", Type("string")},
                           {"entries", Type("integer")},
                           {"engine", Type("string")},
                           {"parties", Type("integer")},
                           {"latency_ms", Type("number")},
                           {"median_seconds", Type("number")},
                           {"best_seconds", Type("number")},
                           {"offline_seconds", Type("number")},
                           {"online_seconds", Type("number")},
                           {"rounds", Type("integer")},
                           {"offline_bytes", Type("integer")},
                           {"online_bytes", Type("integer")}});
  return Object(
      {{"load_average", Type("number")}, {"repetitions", Type("integer")}, {"rows", ListOf(row)}});
}

Json Rehearse() {
  const Json parameter = Object({{"analysis", Type("string")},
                                 {"lhs", Type("string")},
                                 {"op", Type("string")},
                                 {"rhs", Type("string")},
                                 {"group", Type("integer")},
                                 {"secure", Nullable("number")},
                                 {"plain", Nullable("number")},
                                 {"digits", Type("number")},
                                 {"standard_error_digits", Type("number")}});
  const Json costs = Object(
      {{"rounds", Type("integer")}, {"messages", Type("integer")}, {"bytes", Type("integer")}});
  return Object({{"passed", Type("boolean")},
                 {"rows", Type("integer")},
                 {"seed", Type("integer")},
                 {"parameters", ListOf(parameter)},
                 {"lowest_digits", Type("number")},
                 {"median_digits", Type("number")},
                 {"min_digits", Type("number")},
                 {"secure_converged", Type("boolean")},
                 {"plain_converged", Type("boolean")},
                 {"planned", costs},
                 {"counted", costs},
                 {"costs_agree", Type("boolean")},
                 {"secure_seconds", Type("number")},
                 {"plain_seconds", Type("number")}});
}

}  // namespace

std::optional<Json> StewardSchema(const std::string& command) {
  if (command == "data describe") return TableDescription();
  if (command == "data check") return Check();
  if (command == "data compare") return TableComparison();
  if (command == "data mock") return Mock();
  if (command == "doctor") return Doctor();
  if (command == "study rehearse") return Rehearse();
  if (command == "bench mpc") return BenchMpc();
  return std::nullopt;
}

}  // namespace partita::cli
