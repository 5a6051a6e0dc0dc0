// A JSON Schema as a test asks it, by valijson.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace partita::testing {

class JsonSchema {
 public:
  // Throws std::exception for what is no schema of draft-07.
  explicit JsonSchema(const nlohmann::json& schema);
  ~JsonSchema();
  JsonSchema(const JsonSchema&) = delete;
  JsonSchema& operator=(const JsonSchema&) = delete;

  // Why `value` is not what the schema says, a line each; empty: it is.
  std::string Errors(const nlohmann::json& value) const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace partita::testing
