// docs/schemas: every command prints its file, every output and every result is what its schema
// says, and a key too many or too few is not. Outputs of commands that need more than a folder are
// compared where they are tested: by tests/cli/process.h, of whatever a test runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/json_schema.h"
#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/cli/sum_folder.h"
#include "tests/paths.h"

namespace partita::testing::schemas_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

// NAME of docs/schemas/NAME.json, and the text.
std::map<std::string, std::string> Files() {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath("docs/schemas")))
    files[entry.path().stem()] = StudyFolder::Read(entry.path());
  return files;
}

std::vector<std::string> Split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  size_t at = 0, end = 0;
  for (; (end = text.find(separator, at)) != std::string::npos; at = end + separator.size())
    parts.push_back(text.substr(at, end - at));
  parts.push_back(text.substr(at));
  return parts;
}

// The commands whose output a schema is; none: it is a part of others.
std::vector<std::string> CommandsOf(const Json& schema) {
  std::vector<std::string> commands;
  const std::string title = schema["title"];
  if (title.rfind("partita ", 0) != 0) return commands;
  for (const std::string& command : Split(title, ", "))
    commands.push_back(command.substr(std::string("partita ").size()));
  return commands;
}

// What a command prints for --schema; each is started once.
const std::string& Printed(const std::string& command) {
  static auto* const known = new std::map<std::string, std::string>;
  const auto found = known->find(command);
  if (found != known->end()) return found->second;
  std::vector<std::string> arguments = Split(command, " ");
  arguments.emplace_back("--schema");
  const ProcessResult run = Partita(arguments);
  EXPECT_EQ(run.exit_code, 0) << command << ": " << run.err;
  return known->emplace(command, run.out).first->second;
}

// The commands below `parent` that have none below them, by what --help lists.
void AddCommands(const std::string& parent, std::set<std::string>& commands) {
  std::vector<std::string> arguments =
      parent.empty() ? std::vector<std::string>{} : Split(parent, " ");
  arguments.emplace_back("--help");
  std::istringstream help(Partita(arguments).out);
  std::string line;
  while (std::getline(help, line) && line != "Subcommands:") continue;
  if (!help) {
    commands.insert(parent);
    return;
  }
  while (std::getline(help, line) && line.rfind("  ", 0) == 0) {
    if (line[2] == ' ') continue;  // the rest of a description
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    AddCommands(parent.empty() ? name : parent + " " + name, commands);
  }
}

TEST(SchemasTest, EveryCommandHasOneAndEveryFileIsPrinted) {
  std::set<std::string> commands, described, shown_within;
  AddCommands("", commands);
  EXPECT_GT(commands.size(), 70u);
  const auto files = Files();
  for (const auto& [name, text] : files) {
    for (const std::string& command : CommandsOf(Json::parse(text))) {
      SCOPED_TRACE(command);
      EXPECT_TRUE(described.insert(command).second) << "a second schema";
      const std::string printed = Printed(command);
      if (text.find(".json") == std::string::npos) {
        EXPECT_EQ(printed, text);
        continue;
      }
      // As the file, with the files that it refers to.
      EXPECT_THAT(printed, Not(HasSubstr(".json#")));
      Json without = Json::parse(printed);
      for (const auto& [part, part_text] : files) {
        if (without["definitions"].erase(part) > 0) shown_within.insert(part);
      }
      std::string expected = text;
      for (const auto& [part, part_text] : files) {
        for (const char* after : {".json\"", ".json#"}) {
          const std::string from = "\"$ref\": \"" + part + after;
          for (size_t at; (at = expected.find(from)) != std::string::npos;) {
            expected.replace(at, from.size(),
                             "\"$ref\": \"#/definitions/" + part + (after[5] == '"' ? "\"" : ""));
          }
        }
      }
      EXPECT_EQ(without, Json::parse(expected));
    }
  }
  EXPECT_EQ(described, commands);
  for (const auto& [name, text] : files) {
    if (!CommandsOf(Json::parse(text)).empty()) continue;
    EXPECT_THAT(shown_within, Contains(name));
  }
}

// The part of draft-07 that the files use, closed: a keyword with a typing error would allow all.
constexpr char kSchemaOfSchemas[] = R"({
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "$schema": {"const": "http://json-schema.org/draft-07/schema#"},
    "$ref": {"type": "string", "pattern": "^([a-z-]+[.]json)?(#/.+)?$"},
    "title": {"type": "string"},
    "type": {"oneOf": [{"$ref": "#/definitions/type"},
                       {"type": "array", "minItems": 2, "items": {"$ref": "#/definitions/type"}}]},
    "properties": {"$ref": "#/definitions/named"},
    "definitions": {"$ref": "#/definitions/named"},
    "additionalProperties": {"oneOf": [{"const": false}, {"$ref": "#"}]},
    "propertyNames": {"$ref": "#"},
    "items": {"$ref": "#"},
    "required": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    "enum": {"type": "array", "minItems": 1},
    "const": {},
    "oneOf": {"type": "array", "minItems": 2, "items": {"$ref": "#"}},
    "allOf": {"type": "array", "minItems": 2, "items": {"$ref": "#"}},
    "pattern": {"type": "string"},
    "minimum": {"type": "number"},
    "maximum": {"type": "number"},
    "minItems": {"type": "integer"},
    "maxItems": {"type": "integer"}
  },
  "definitions": {
    "named": {"type": "object", "additionalProperties": {"$ref": "#"}},
    "type": {"enum": ["object", "array", "string", "number", "integer", "boolean", "null"]}
  }
})";

// Every object is closed or has one kind of member, every list one kind of item.
void ExpectNothingOpen(const Json& schema, const std::string& at) {
  if (!schema.is_structured()) return;
  for (const auto& [key, below] : schema.items()) ExpectNothingOpen(below, at + "/" + key);
  if (!schema.is_object() || !schema.contains("type") || !schema["type"].is_string()) return;
  const char* closed = schema["type"] == "object" ? "additionalProperties" : "items";
  const bool holds = schema["type"] == "object" || schema["type"] == "array";
  EXPECT_TRUE(!holds || schema.contains(closed)) << at;
  if (!schema.contains("required") || schema.contains("propertyNames")) return;
  for (const std::string key : schema["required"])
    EXPECT_TRUE(schema["properties"].contains(key)) << at << " requires " << key;
}

TEST(SchemasTest, EveryFileIsASchemaThatLeavesNothingOpen) {
  const JsonSchema schema_of_schemas(Json::parse(kSchemaOfSchemas));
  for (const auto& [name, text] : Files()) {
    const Json file = Json::parse(text);
    EXPECT_EQ(schema_of_schemas.Errors(file), "") << name;
    ExpectNothingOpen(file, name);
    for (const std::string& command : CommandsOf(file)) JsonSchema(Json::parse(Printed(command)));
  }
  Json wrong = Json::parse(Files().at("study-new"));
  wrong["definitions"]["output"]["requird"] = wrong["definitions"]["output"]["required"];
  EXPECT_NE(schema_of_schemas.Errors(wrong), "");
}

TEST(SchemasTest, OutputsAreWhatTheySay) {
  StudyFolder folder;
  const SumFolder sum({.clients = 5, .max_drop = 1}),
      tokens({.clients = 5, .max_drop = 1, .admission = "tokens"});
  const std::string home = folder.path() + "/home", result = folder.path() + "/result.json",
                    roster = folder.path() + "/roster.toml", ledger = folder.path() + "/ledger.db";
  const std::vector<std::vector<std::string>> commands = {
      {"study", "new", folder.path() + "/commented.toml", "--commented"},
      {"study", "new", folder.path() + "/new.toml", "--party", "north,south", "--dictionary",
       folder.study_file(), "--model", "x1 ~ x2"},
      {"study", "validate", folder.study_file()},
      {"study", "plan", folder.study_file()},
      {"study", "simulate", folder.study_file(), "--output", result},
      {"study", "report", result},
      {"cert", "new", "north", "--folder", home},
      {"cert", "show", home + "/cert.pem"},
      {"cert", "roster", roster, "--certificate", home + "/cert.pem", "--address",
       "127.0.0.1:7400"},
      {"study", "approve", folder.study_file(), "--party", "north", "--folder", home, "--roster",
       roster, "--data", folder.data("north"), "--output", home, "--yes"},
      {"study", "approval", home + "/approval-small-north.json", "--roster", roster, "--study",
       folder.study_file()},
      {"study", "reject", folder.study_file(), "--party", "north", "--folder", home, "--roster",
       roster, "--output", home, "--reason", "too few rows", "--force"},
      {"study", "approval", home + "/approval-small-north.json"},
      {"study", "rehearse", folder.study_file()},
      {"data", "describe", folder.data("north"), "--draft"},
      {"data", "check", folder.data("north"), "--study", folder.study_file(), "--party", "north",
       "--share", folder.path() + "/north.json"},
      {"data", "check", folder.data("south"), "--study", folder.study_file(), "--party", "south",
       "--share", folder.path() + "/south.json"},
      {"data", "compare", folder.path() + "/north.json", folder.path() + "/south.json"},
      {"data", "mock", "--study", folder.study_file(), "--output", folder.path() + "/mock"},
      {"doctor", "--quiet", "--folder", folder.path()},
      {"demo", "--in-process"},
      {"sem", "measures", result},
      {"ledger", "open", ledger, "--table", "visits", "--epsilon", "3", "--delta", "1e-6"},
      {"ledger", "change", ledger, "--table", "visits", "--epsilon", "4", "--delta", "1e-6",
       "--exact", "2", "--why", "a second survey"},
      {"ledger", "show", ledger},
      {"ledger", "history", ledger},
      {"ledger", "price", ledger, SourcePath("examples/private_regression/study.toml")},
      {"ledger", "verify", ledger},
      {"ledger", "export", ledger, "--output", folder.path() + "/entries.json"},
      {"audit", "runs", "--epsilon", "1", "--factor", "1.5"},
      {"collection", "node", "node0", "--address", "127.0.0.1:7500", "--folder", home + "/node"},
      {"collection", "check", sum.collection_file()},
      {"collection", "plan", sum.collection_file()},
      {"client", "keygen", "--folder", home},
      {"client", "register", home + "/clients.txt", "--key", home + "/client.pub"},
      {"client", "invite", tokens.collection_file(), "--count", "2", "--folder", home + "/tokens",
       "--until", "2098-12-31"},
      {"privacy", "eps", "approximate", "--each-epsilon", "1", "--each-delta", "0.1", "--delta",
       "1e-3"},
      {"privacy", "sigma", "gaussian", "--epsilon", "1", "--delta", "1e-6"},
      {"privacy", "steps", "gaussian", "--sigma", "0.1", "--epsilon", "1", "--delta", "1e-6"},
      {"privacy", "curve", "laplace", "--scale", "2", "--delta", "1e-6"},
      {"privacy", "compose", "--mechanism", "gaussian sigma=2", "--delta", "1e-6"},
      {"privacy", "compare", "laplace", "--scale", "2", "--delta", "1e-6"},
  };
  // The roster of an approval has all parties.
  for (const std::string other : {"south", "dealer"}) {
    const std::string other_home = folder.path() + "/" + other;
    const std::string address = other == "south" ? "127.0.0.1:7401" : "127.0.0.1:7402";
    ASSERT_EQ(Partita({"cert", "new", other, "--folder", other_home}).exit_code, 0);
    ASSERT_EQ(Partita({"cert", "roster", roster, "--certificate", other_home + "/cert.pem",
                       "--address", address})
                  .exit_code,
              0);
  }
  for (std::vector<std::string> command : commands) {
    SCOPED_TRACE(command[0] + " " + command[1]);
    command.insert(command.end(), {"--format", "jsonl"});
    const ProcessResult run = Partita(command);  // compares
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 1) << "one line";
    Json broken = Json::parse(run.out);
    broken.erase("data");
    const std::string& schema = command[0] == "doctor" || command[0] == "demo"
                                    ? Printed(command[0])
                                    : Printed(command[0] + " " + command[1]);
    EXPECT_NE(JsonSchema(Json::parse(schema)).Errors(broken), "");
  }
  EXPECT_EQ(Partita({"study", "plan", "/nowhere.toml", "--format", "json"}).exit_code, 2);
}

// A result.json of each method. Simulated once for all tests of this file.
const std::map<std::string, Json>& Results() {
  static const auto* const results = [] {
    auto* made = new std::map<std::string, Json>;
    StudyFolder folder;
    const std::string result = folder.path() + "/result.json";
    for (const auto& [method, study] : std::map<std::string, std::string>{
             {"mle", SourcePath("examples/three_factor/horizontal/study.toml")},
             {"mixture", SourcePath("examples/synthetic_registry/study.toml")},
             {"classify", SourcePath("examples/private_classifier/study.toml")},
             {"mcmc", SourcePath("examples/registry_survival/study.toml")}}) {
      const ProcessResult run = Partita({"study", "simulate", study, "--output", result, "--force",
                                         "--in-process", "--format", "json"});
      EXPECT_THAT(run.exit_code, ::testing::AnyOf(0, 6)) << run.err;
      (*made)[method] = Json::parse(StudyFolder::Read(result));
      EXPECT_EQ(Json::parse(run.out)["data"], (*made)[method]);
      Partita({"study", "report", result, "--format", "json"});  // compares
    }
    return made;
  }();
  return *results;
}

// docs/schemas/result-METHOD.json, from what `study report --schema` prints.
Json SchemaOf(const std::string& method) {
  Json printed = Json::parse(Printed("study report"));
  return {{"$ref", "#/definitions/result-" + method}, {"definitions", printed["definitions"]}};
}

TEST(SchemasTest, EveryMethodsResultIsOfItsSchemaAndNoOther) {
  for (const auto& [other, of_other] : Results()) {
    const JsonSchema schema(SchemaOf(other));
    for (const auto& [method, result] : Results()) {
      const std::string errors = schema.Errors(result);
      EXPECT_EQ(errors.empty(), method == other) << method << " by " << other << ": " << errors;
    }
  }
}

TEST(SchemasTest, ResultsOfOtherKindsAreOfTheirSchema) {
  const StudyFolder folder;
  // What replaces all from the [[analysis]] of an example on.
  const auto simulate = [&](const std::string& example, const std::string& analysis) {
    const std::string copy =
        folder.path() + "/" + std::filesystem::path(example).filename().string();
    std::filesystem::copy(SourcePath("examples/" + example), copy,
                          std::filesystem::copy_options::recursive);
    const std::string text = StudyFolder::Read(copy + "/study.toml");
    StudyFolder::Write(copy + "/study.toml", text.substr(0, text.find("[[analysis]]")) + analysis);
    const ProcessResult run =
        Partita({"study", "simulate", copy + "/study.toml", "--in-process", "--format", "json"});
    EXPECT_EQ(run.exit_code, 0) << run.err;  // compared
    return Json::parse(run.out)["data"];
  };
  const Json robust = simulate("three_factor/horizontal", R"([[analysis]]
method = "mle"
protocol = "pooled-moments"
release = ["moments", "robust", {what = "estimates", to = "all"}]
robust = true
function = "cfa"
model = "visual =~ x1 + x2 + x3"
)");
  EXPECT_TRUE(robust["analyses"][0]["robust"].is_object());
  // Shows nothing that is exact in a file.
  const Json own = simulate("private_classifier", R"([[analysis]]
method = "classify"
protocol = "single-party"
outcome = "relapse"
positive = "yes"
predictors = ["age", "dose", "sex"]
row_norm = 1.8
lambda = 0.001
)");
  EXPECT_EQ(own["result"].size(), 2u);
}

// The same with one item in every list: all of a list are of one schema.
Json Shortened(const Json& value) {
  Json shortened = value;
  if (value.is_array() && value.size() > 1) shortened = Json::array({value[0]});
  if (shortened.is_structured()) {
    for (Json& below : shortened) below = Shortened(below);
  }
  return shortened;
}

// Calls see(object, path) for every object below `value`; `see` puts back what it changes.
void ForEachObject(Json& value, const std::string& path,
                   const std::function<void(Json&, const std::string&)>& see) {
  if (value.is_array() && !value.empty()) ForEachObject(value[0], path + "[]", see);
  if (!value.is_object()) return;
  for (auto& [key, below] : value.items()) ForEachObject(below, path + "." + key, see);
  see(value, path);
}

TEST(SchemasTest, AKeyTooManyOrTooFewIsNoticed) {
  const std::set<std::string> optional = {"adversary.party",
                                          "adversary.size",
                                          "adversary.with_dealer",
                                          "rows[].mu",
                                          "rows[].trade_off",
                                          "rows[].uses_cap",
                                          "rows[].uses_realised",
                                          "classify result.intervals",
                                          "classify result.evaluation",
                                          "classify result.privacy"};
  for (const auto& [method, result] : Results()) {
    const std::string of = method;
    const JsonSchema schema(SchemaOf(method));
    const Json shortened = Shortened(result);
    EXPECT_EQ(schema.Errors(shortened), "");
    Json changed = shortened;
    size_t keys = 0;
    ForEachObject(changed, method, [&](Json& object, const std::string& path) {
      object["planted"] = true;
      EXPECT_NE(schema.Errors(changed), "") << path << " with another key";
      object.erase("planted");
      const std::string place = path.substr(path.rfind('.') + 1);
      // Names of measures that there are, and of levels.
      if (place == "fit" || place == "coefficients") return;
      const Json whole = object;
      for (const auto& [key, value] : whole.items()) {
        object.erase(key);
        const bool may =
            optional.count(place + "." + key) + optional.count(of + " " + place + "." + key) > 0;
        EXPECT_EQ(schema.Errors(changed).empty(), may) << path << " without " << key;
        object[key] = value;
        ++keys;
      }
    });
    EXPECT_EQ(changed, shortened);
    EXPECT_GT(keys, 120u);
  }
}

}  // namespace
}  // namespace partita::testing::schemas_test
