// The result for programs: docs/result-json.md. Numbers are the shortest text that reads back as
// the same double; NaN and infinities are null. No sample moment is in it, only what the fit
// prints: the rows of fixed covariates (lavaan's fixed.x) have null numbers.
#pragma once

#include <string>

#include "methods/mle/result.h"
#include "report/run_facts.h"
#include "study/plan.h"

namespace partita::report {

inline constexpr int kResultSchemaVersion = 1;

// What the receiver keeps. UTF-8, two spaces of indentation, a final line break.
std::string ResultJson(const methods::mle::MleResult& result, const study::Plan& plan,
                       const RunFacts& facts);

// What a party that receives no result keeps: the same document without the statistics, with the
// status "finished".
std::string RunJson(const study::Plan& plan, const RunFacts& facts);

// What ResultJson wrote, as far as the report needs it: the summary and the JSON of a stored result
// are those of the original one. Matrices that are not in the document stay empty.
struct StoredResult {
  methods::mle::MleResult result;
  study::Plan plan;
  RunFacts facts;
};
// Throws kBadInput naming the file if it is not such a document.
StoredResult ParseResultJson(const std::string& text, const std::string& file_name);
// Throws kBadInput also if the file cannot be read or is larger than 64 MiB.
StoredResult LoadResultJson(const std::string& path);

}  // namespace partita::report
