#include "cli/schema_parts.h"

namespace partita::cli {

std::optional<Json> SmleSchema(const std::string& command) {
  if (command == "reproduce smle-protocols") {
    return Object({{"data_set", Type("string")},
                   {"protocols", ListOf(Object({{"protocol", Type("string")},
                                                {"converged", Type("boolean")},
                                                {"estimates_off", Nullable("number")},
                                                {"standard_errors_off", Nullable("number")},
                                                {"seconds", Type("number")},
                                                {"rounds", Type("integer")},
                                                {"bytes", Type("integer")},
                                                {"questions", Type("integer")},
                                                {"told", Type("integer")},
                                                {"of", Type("integer")}}))},
                   {"attacks", ListOf(Object({{"protocol", Type("string")},
                                              {"attacker", Type("string")},
                                              {"target", Type("string")},
                                              {"questions", Type("integer")},
                                              {"found", Type("integer")},
                                              {"of", Type("integer")},
                                              {"unit", {{"enum", {"rows", "moments"}}}},
                                              {"error", Nullable("number")},
                                              {"stored_found", Nullable("number")},
                                              {"stored_error", Nullable("number")},
                                              {"stored_questions", Nullable("integer")}}))}});
  }
  if (command == "reproduce smle-table1") {
    return Object({{"rows", ListOf(Object({{"panel", Type("string")},
                                           {"column", Type("string")},
                                           {"parameter", Type("string")},
                                           {"estimate", Nullable("number")},
                                           {"standard_error", Nullable("number")}}))},
                   {"differences", ListOf(Object({{"panel", Type("string")},
                                                  {"column", Type("string")},
                                                  {"estimates_off", Nullable("number")}}))},
                   {"warning", Type("string")}});
  }
  if (command == "reproduce smle-accuracy") {
    return Object({{"rows", ListOf(Object({{"protocol", Type("string")},
                                           {"data_sets", Type("integer")},
                                           {"converged", Type("integer")},
                                           {"largest_difference", Nullable("number")},
                                           {"largest_in_standard_errors", Nullable("number")}}))}});
  }
  if (command == "reproduce smle-figure5") {
    return Object({{"rows", ListOf(Object({{"varies", {{"enum", {"n", "p", "K"}}}},
                                           {"n", Type("integer")},
                                           {"p", Type("integer")},
                                           {"nodes", Type("integer")},
                                           {"protocol", Type("string")},
                                           {"evaluation_seconds", Nullable("number")},
                                           {"fit_seconds", Type("number")},
                                           {"all_seconds", Type("number")},
                                           {"questions", Type("integer")},
                                           {"bytes", Type("integer")},
                                           {"stored_evaluation_seconds", Nullable("number")},
                                           {"stored_fit_seconds", Nullable("number")}}))}});
  }
  return std::nullopt;
}

}  // namespace partita::cli
