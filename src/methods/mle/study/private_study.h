// A study whose moments are released with noise ([analysis.privacy]): what is allowed together, how
// the noise is sized, and what the plan says about it.
//
// All analyses of such a study share one row set and one promise, and therefore one noisy release:
// everything else is post-processing of it. Exact and private analyses are never mixed, and there
// are no disclosure checks: their answers would be exact functions of the data (R-i).
#pragma once

#include <string>
#include <vector>

#include "methods/mle/study/study.h"
#include "study/plan/plan.h"

namespace partita::methods::mle {

bool HasPrivacy(const study::StudyFile& file);

// Before the computations are planned. Throws kBadInput with the place: exact and private analyses
// mixed, promises or row sets that differ, another protocol than pooled-moments, robust standard
// errors, weights, site = "fixed", adjacency add-remove where a count is declared, or nothing to
// plan with.
void RequireSupportedPrivacy(const MleStudy& study);

// Needs the computation.
PrivateMoments DesignPrivacy(const MleStudy& study);

// Rows assumed by the forecast of an analysis: planning_rows, else the declared counts.
uint64_t PlanningRows(const MleStudy& study, size_t analysis);

// Needs the design. Bounds with directed rounding: about 0.1 s.
privacy::Statement StatePrivacy(const MleStudy& study);

// The statement as the plan shows it: one row per adversary, and its whole sentences.
std::vector<study::PlanPrivacy> StatementRows(const MleStudy& study);
std::vector<std::string> StatementSentences(const MleStudy& study);

// What the one noisy release tells its receiver.
study::PlanExposure PrivateExposure(const MleStudy& study);

}  // namespace partita::methods::mle
