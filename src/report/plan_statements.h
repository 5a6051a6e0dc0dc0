// What every report says in words of a plan, before there is a result.
#pragma once

#include <string>
#include <vector>

#include "report/run_facts.h"
#include "study/plan/plan.h"

namespace partita::report {

// "differential-privacy" and "adversary" (statements.h).
std::vector<Statement> PlanStatements(const study::Plan& plan);

// Whether something is released, and nothing exactly.
bool AllNoisy(const study::Plan& plan);

// "a", "a and b", "a, b and c".
std::string List(const std::vector<std::string>& items);

}  // namespace partita::report
