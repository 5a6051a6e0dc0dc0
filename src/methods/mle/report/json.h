// result.json of method `mle`. The receiver's has the moments that were released to it; what others
// are told has none: the rows of fixed covariates (lavaan's fixed.x) have null numbers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "methods/mle/fit/result.h"
#include "report/run_facts.h"
#include "study/plan/plan.h"

namespace partita::methods::mle {

// What the receiver keeps: all analyses of the study, in the study file's order. UTF-8, two spaces
// of indentation, a final line break. Throws kInternal for no result, or for a fit that does not
// belong to its parameter table.
std::string ResultJson(std::span<const MleResult> results, const study::Plan& plan,
                       const report::RunFacts& facts);

// One entry of `analyses`.
std::string AnalysisResultJson(const MleResult& result);

// Back from ResultJson; matrices that are not in it stay empty. Throws what nlohmann-json throws if
// something is missing or of another type.
std::vector<MleResult> ReadMleResults(const nlohmann::ordered_json& json);

}  // namespace partita::methods::mle
