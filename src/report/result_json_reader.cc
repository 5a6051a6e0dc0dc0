#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_problem.h"
#include "report/facts_json.h"
#include "report/json.h"
#include "report/result_json.h"

namespace partita::report {
namespace {

constexpr size_t kMaxFileBytes = size_t{64} << 20;

[[noreturn]] void Refuse(const std::string& file_name, const std::string& why) {
  throw Error(ErrorCode::kBadInput, file_name + ": this is no result of Partita: " + why,
              "give the result.json that the receiver of a study wrote");
}

}  // namespace

StoredResult ParseResultJson(const std::string& text, const std::string& file_name,
                             const ResultReader& read) {
  try {
    const Json json = Json::parse(text);
    if (json.at("schema_version") != kResultSchemaVersion) {
      Refuse(file_name, "its schema_version is not " + std::to_string(kResultSchemaVersion));
    }
    if (json.at("status") == "finished") {
      Refuse(file_name, "it is the record of a party that received no result");
    }
    StoredResult stored;
    stored.plan = study::ParsePlanJson(json.at("plan").dump());
    stored.result = read(stored.plan.method, json);
    if (stored.result == nullptr)
      Refuse(file_name, "this version has no method '" + stored.plan.method + "'");
    stored.facts = ReadFacts(json);
    return stored;
  } catch (const Json::exception& error) {
    Refuse(file_name, JsonProblem(error.id, error.what()));
  }
}

StoredResult LoadResultJson(const std::string& path, const ResultReader& read) {
  return ParseResultJson(ReadFile(path, kMaxFileBytes, "the result"), path, read);
}

}  // namespace partita::report
