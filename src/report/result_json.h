// The result for programs: docs/result-json.md. Numbers are the shortest text that reads back as
// the same double; NaN and infinities are null. No sample moment is in it, only what the fit
// prints.
#pragma once

#include <string>

#include "methods/mle/result.h"
#include "report/run_facts.h"
#include "study/plan.h"

namespace partita::report {

inline constexpr int kResultSchemaVersion = 1;

// UTF-8, two spaces of indentation, a final line break.
std::string ResultJson(const methods::mle::MleResult& result, const study::Plan& plan,
                       const RunFacts& facts);

}  // namespace partita::report
