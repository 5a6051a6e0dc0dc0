#include "tests/cli/json_schema.h"

#include <rapidjson/document.h>
#include <rapidjson/schema.h>
#include <rapidjson/stringbuffer.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace partita::testing {
namespace {

using Json = nlohmann::json;

// What a reference leads to in the end, through others: "#/definitions/a".
std::string Target(const Json& root, std::string reference) {
  for (const Json* at = &root;; reference = at->at("$ref")) {
    at = &root.at(Json::json_pointer(reference.substr(1)));
    if (!at->contains("$ref")) return reference;
  }
}

// The same in draft 4, which RapidJSON reads: of what the files use it lacks `const` and
// `propertyNames`, of which these list names.
Json InDraft4(const Json& root, const Json& schema) {
  if (!schema.is_object()) return schema;
  Json made;
  for (const auto& [key, value] : schema.items()) {
    if (key == "const") {
      made["enum"] = {value};
    } else if (key == "$ref") {
      made[key] = Target(root, value);
    } else if (key == "properties" || key == "definitions") {
      made[key] = Json::object();
      for (const auto& [name, below] : value.items()) made[key][name] = InDraft4(root, below);
    } else if (key == "oneOf" || key == "allOf") {
      for (const Json& below : value) made[key].push_back(InDraft4(root, below));
    } else if (key == "items" || key == "additionalProperties") {
      made[key] = InDraft4(root, value);
    } else if (key != "propertyNames") {
      made[key] = value;
    }
  }
  if (schema.contains("propertyNames")) {
    for (const Json& name : schema["propertyNames"].at("enum"))
      made["properties"][std::string(name)] = made.at("additionalProperties");
    made["additionalProperties"] = false;
  }
  return made;
}

rapidjson::Document Parse(const std::string& text) {
  rapidjson::Document document;
  document.Parse(text.c_str());
  if (document.HasParseError()) throw std::runtime_error("no JSON: " + text);
  return document;
}

std::string TextOf(const rapidjson::Pointer& pointer) {
  rapidjson::StringBuffer text;
  pointer.StringifyUriFragment(text);
  return text.GetString();
}

}  // namespace

struct JsonSchema::Parsed {
  explicit Parsed(const Json& from) : document(Parse(InDraft4(from, from).dump())) {}
  rapidjson::Document document;
  rapidjson::SchemaDocument schema{document};
};

JsonSchema::JsonSchema(const Json& schema) : parsed_(new Parsed(schema)) {}

JsonSchema::~JsonSchema() = default;

std::string JsonSchema::Errors(const Json& value) const {
  rapidjson::SchemaValidator validator(parsed_->schema);
  if (Parse(value.dump()).Accept(validator)) return "";
  return TextOf(validator.GetInvalidDocumentPointer()) + " is not what " +
         TextOf(validator.GetInvalidSchemaPointer()) + " says by '" +
         validator.GetInvalidSchemaKeyword() + "'\n";
}

}  // namespace partita::testing
