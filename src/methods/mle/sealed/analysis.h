// Protocol `sealed`: one analysis, from sums on shares to what lavaan prints.
//
// Ideal function   (sums and cross products of every group, on shares) -> to the receiver, the
//                  rows of every group and what fit.h opens. Nothing to others.
// After it         Standard errors follow from the estimates (expected information), fit measures
//                  from the scalars; without them, they are missing, not guessed.
// Incomplete rows  Full information maximum likelihood on the patterns (sealed_patterns.h), whose
//                  rows and moments stay on shares. Standard errors are those of the observed
//                  information, which the estimates do not determine: they open where listed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "methods/mle/fit/analysis.h"
#include "methods/mle/fit/result.h"
#include "methods/mle/sealed/fit.h"
#include "methods/mle/sealed/sample.h"
#include "mpc/engine.h"

namespace partita::methods::mle {

// Throws kBadInput as PrepareSealed, and for observed information of complete rows, which needs the
// moments.
SealedModel SealedModelOf(const MleAnalysis& analysis);

// Whether moments of fixed.x covariates are estimated along and stay sealed.
bool HasSealedCovariates(const MleAnalysis& analysis);

// Whether standard errors have to be opened because they do not follow from the estimates: of such
// models, and of incomplete rows.
bool NeedsStandardErrors(const MleAnalysis& analysis);

// All releases of an analysis: the group sizes and those of SealedReleases.
std::vector<mpc::Release> SealedAnalysisReleases(const MleAnalysis& analysis,
                                                 const SealedOpenings& openings,
                                                 const std::string& receiver_name);

// Sufficient statistics of the analysis: n, (means and) covariances of every group.
uint64_t NumStatistics(const MleAnalysis& analysis);

// Runs the protocol at every process. The result at the receiver, empty elsewhere.
std::optional<MleResult> FitSealedAnalysis(mpc::Engine& engine, const MleAnalysis& analysis,
                                           const SealedOpenings& openings, const SealedSums& sums,
                                           Progress& progress);

// At the receiver: the result of what was opened. Throws kBadInput for a group without rows.
MleResult DescribeSealed(const MleAnalysis& analysis, const SealedModel& model,
                         const SealedOpenings& openings, const std::vector<double>& group_sizes,
                         const SealedEstimates& estimates);

}  // namespace partita::methods::mle
