// The result for programs: docs/result-json.md. Numbers are the shortest text that reads back as
// the same double; NaN and infinities are null. No sample moment is in it, only what the fit
// prints: the rows of fixed covariates (lavaan's fixed.x) have null numbers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "methods/mle/result.h"
#include "report/run_facts.h"
#include "study/document.h"
#include "study/plan.h"

namespace partita::report {

// What the receiver keeps: all analyses of the study, in the study file's order. UTF-8, two spaces
// of indentation, a final line break. Throws kInternal for no result, or for a fit that does not
// belong to its parameter table.
std::string ResultJson(std::span<const methods::mle::MleResult> results, const study::Plan& plan,
                       const RunFacts& facts);

// One entry of `analyses`.
std::string AnalysisResultJson(const methods::mle::MleResult& result);

// What a party that receives no result keeps: the same document without the statistics, with the
// status "finished".
std::string RunJson(const study::Plan& plan, const RunFacts& facts);

// What ResultJson wrote, as far as the report needs it: every rendering of a stored result is that
// of the original one. Matrices that are not in the document stay empty.
struct StoredResult {
  std::vector<methods::mle::MleResult> results;  // empty: there is a document instead
  std::optional<study::Document> document;
  study::Plan plan;
  RunFacts facts;
};
// Throws kBadInput naming the file if it is not such a document.
StoredResult ParseResultJson(const std::string& text, const std::string& file_name);
// Throws kBadInput also if the file cannot be read or is larger than 64 MiB.
StoredResult LoadResultJson(const std::string& path);

}  // namespace partita::report
