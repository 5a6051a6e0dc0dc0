// missing = "mi" in a study of method `mle`: what is imputed, what is said of it, and the fits.
#pragma once

#include <vector>

#include "methods/mle/imputed/imputed_moments.h"
#include "methods/mle/study/protocol.h"
#include "study/plan/plan.h"

namespace partita::methods::mle {

// All variables of the analyses over these rows are imputed together.
ImputationTask ImputationTaskOf(const MleStudy& study, const Computation& computation,
                                const RowSet& rows);

study::PlanExposure ImputationExposure(const MleStudy& study, const Computation& computation,
                                       const RowSet& rows);

// Throws kBadInput, naming the analysis, for more rows than the numbers on shares have room for.
void RequireSupportedImputation(const MleStudy& study, size_t analysis);

// Imputes every set of rows, each in a phase of its own, and fits the analyses at the receiver.
// shared: by cell. random: this party's own; null at the dealer.
void FitImputedAnalyses(mpc::Engine& engine, const MleStudy& study, const Computation& computation,
                        const std::vector<SharedMoments>& shared, crypto::RandomSource* random,
                        ProtocolResult& result, Progress& progress);

}  // namespace partita::methods::mle
