// Protocol `sealed` in a study: what its analyses need of the study file, open, expose and run.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "methods/mle/sealed/analysis.h"
#include "methods/mle/study/protocol.h"
#include "methods/mle/study/study.h"
#include "mpc/engine.h"
#include "mpc/release_gate.h"
#include "study/plan/plan.h"

namespace partita::methods::mle {

// Whether no analysis opens moments or likelihoods.
bool IsSealed(const MleStudy& study);

std::string SealedPhase(const MleStudy& study, size_t analysis);  // "sealed NAME"

SealedOpenings SealedOpeningsOf(const MleStudy& study, size_t analysis);
std::vector<mpc::Release> SealedReleasesOf(const MleStudy& study, size_t analysis);

// Throws kBadInput, naming the analysis, for models, releases and sizes that the protocol does not
// take.
void RequireSupportedSealed(const MleStudy& study, size_t analysis);

// What the opened numbers of all analyses over one set of rows say about its moments (R-k).
study::PlanExposure SealedExposure(const MleStudy& study, const Computation& computation,
                                   const RowSet& rows);

// Fits every analysis of the computation, each in a phase of its own. shared: by cell.
void FitSealedAnalyses(mpc::Engine& engine, const MleStudy& study, size_t computation,
                       const std::vector<SharedMoments>& shared, ProtocolResult& result,
                       Progress& progress);

}  // namespace partita::methods::mle
