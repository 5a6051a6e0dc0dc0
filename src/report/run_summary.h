// What follows the result in the terminal, whatever the method: who learned what and what it cost.
#pragma once

#include <string>

#include "report/run_facts.h"
#include "study/plan/plan.h"

namespace partita::report {

// The releases with their counts, who learned what, rounds, bytes and time per phase.
std::string RunSummary(const study::Plan& plan, const RunFacts& facts);

}  // namespace partita::report
