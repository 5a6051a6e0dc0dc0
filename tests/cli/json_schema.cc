#include "tests/cli/json_schema.h"

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace partita::testing {

using valijson::adapters::NlohmannJsonAdapter;

struct JsonSchema::Parsed {
  valijson::Schema schema;
};

JsonSchema::JsonSchema(const nlohmann::json& schema) : parsed_(new Parsed) {
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(NlohmannJsonAdapter(schema), parsed_->schema);
}

JsonSchema::~JsonSchema() = default;

std::string JsonSchema::Errors(const nlohmann::json& value) const {
  valijson::ValidationResults results;
  valijson::Validator validator;
  if (validator.validate(parsed_->schema, NlohmannJsonAdapter(value), &results)) return "";
  std::string errors;
  for (const valijson::ValidationResults::Error& error : results) {
    for (const std::string& step : error.context) errors += step;
    errors += ": " + error.description + "\n";
  }
  return errors;
}

}  // namespace partita::testing
