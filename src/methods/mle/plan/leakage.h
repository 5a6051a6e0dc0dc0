// Rule R-k (methods.md 0b): what the opened numbers of a study determine, by release and together.
#pragma once

#include <vector>

#include "methods/mle/study/study.h"
#include "study/plan/plan.h"

namespace partita::methods::mle {

// Levels.
inline constexpr char kSufficientStatistics[] = "sufficient-statistics";
inline constexpr char kParameters[] = "parameters";

// Numbers of a row set: of every cell n, means and second moments of the variables that its rows
// have.
uint64_t NumStatistics(const RowSet& rows);

// By row set, then, with several, cumulatively. Numbers opened by disclosure checks are bits and
// not counted.
std::vector<study::PlanExposure> Exposures(const MleStudy& study);

// Whether what opens on the study's grid (sealed estimates, results that others are told) passes
// the release rule: at each party, and of each row set alone.
bool GridPasses(const MleStudy& study);

// The worst level among the exposures.
std::string LeakageLevel(const std::vector<study::PlanExposure>& exposures);

// How much each adversary may learn about one person; for exact releases there is no bound.
std::vector<study::PlanPrivacy> PrivacyRows(const MleStudy& study);

}  // namespace partita::methods::mle
