// The result for programs: docs/result-json.md. Numbers are the shortest text that reads back as
// the same double; NaN and infinities are null.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/result.h"
#include "report/run_facts.h"
#include "study/plan/plan.h"

namespace partita::report {

// What a party that receives no result keeps: the same document without the statistics, with the
// status "finished".
std::string RunJson(const study::Plan& plan, const RunFacts& facts);

// What Result::Json wrote, as far as the report needs it: every rendering of a stored result is
// that of the original one.
struct StoredResult {
  std::unique_ptr<const Result> result;
  study::Plan plan;
  RunFacts facts;
};
// The result of a method, back from Result::Json; null if it knows no such method. Throws what
// nlohmann-json throws if something is missing or of another type.
using ResultReader = std::function<std::unique_ptr<const Result>(
    const std::string& method, const nlohmann::ordered_json& json)>;
// Throws kBadInput naming the file if it is not such a document.
StoredResult ParseResultJson(const std::string& text, const std::string& file_name,
                             const ResultReader& read);
// Throws kBadInput also if the file cannot be read or is larger than 64 MiB.
StoredResult LoadResultJson(const std::string& path, const ResultReader& read);

}  // namespace partita::report
