// A JSON Schema as a test asks it.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace partita::testing {

class JsonSchema {
 public:
  // Of draft-07, as far as docs/schemas go. Throws std::exception for what is no such thing.
  explicit JsonSchema(const nlohmann::json& schema);
  ~JsonSchema();
  JsonSchema(const JsonSchema&) = delete;
  JsonSchema& operator=(const JsonSchema&) = delete;

  // Where `value` is not what the schema says, first; empty: it is.
  std::string Errors(const nlohmann::json& value) const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace partita::testing
