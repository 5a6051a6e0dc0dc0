// The part of result.json that does not depend on the method: both directions side by side, for
// result_json.cc and its reader alone.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/run_facts.h"
#include "study/plan/plan.h"

namespace partita::report {

// Status, software, study, party and hashes: what a document begins with.
nlohmann::ordered_json HeadJson(const std::string& status, const study::Plan& plan,
                                const RunFacts& facts);

// Traffic, releases, approvals and all other facts, and the plan.
void AppendFacts(const study::Plan& plan, const RunFacts& facts, nlohmann::ordered_json& json);

// Back from both. Throws what nlohmann-json throws if something is missing or of another type.
RunFacts ReadFacts(const nlohmann::ordered_json& json);

// null is NaN.
double NumberOrNan(const nlohmann::ordered_json& json);

}  // namespace partita::report
