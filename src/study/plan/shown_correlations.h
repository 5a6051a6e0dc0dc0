// What people are shown of a plan's correlated randomness.
#pragma once

#include <vector>

#include "study/plan/plan.h"

namespace partita::study {

// As in the plan if there are few, else by kind over all shapes, "pairwise masks (92 shapes)". The JSON of a
// plan has all.
std::vector<PlanCorrelation> ShownCorrelations(const Plan& plan);

}  // namespace partita::study
