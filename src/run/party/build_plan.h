// The plan of a study: the method's own protocol code, run on shapes alone, plus everything around
// it.
#pragma once

#include "run/method/study.h"
#include "study/plan/plan.h"

namespace partita::run {

// Phases of a run, in order: "hello", "row-order" (with shared blocks), "moments", "finish". Their
// messages and bytes in the plan equal the counted ones exactly.
study::Plan BuildPlan(const Study& study);

// What the study's other schedules take, for whoever chooses one: Plan::alternatives.
void AddAlternatives(const Study& study, study::Plan& plan);

}  // namespace partita::run
