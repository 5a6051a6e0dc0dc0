// Protocol `likelihood`: the moments stay shared; the centre sees log-likelihoods and gradients.
//
// Ideal function    Shared sums and cross products of every group. The centre learns n of every
//                   group; then again and again chooses theta and learns LL(theta), or LL(theta)
//                   and its gradient. The others learn the number and kind of its questions.
// Method            LL and its gradient are linear in the statistics
// (stats/sem/linear_statistics.h)
//                   with weights that follow from theta: every evaluation is one W S of the linear
//                   oracle (mpc/linear_oracle.h), W known to the centre only.
//                   Without a mean structure LL depends on the covariances alone, so that the means
//                   need not be asked about: n cross - sum sum' is computed on shares first (one
//                   round of products, one truncation).
// Source            methods.md 1.2; Snoke, Brick, Slavkovic & Hunter 2018 for the setting.
// Revealed          To the centre: release `group-sizes/NAME` once; `likelihood-value/NAME`
//                   and `likelihood-gradient/NAME` as often as it asks, up to a declared maximum.
//                   What these add up to is the rank of the weights asked: LikelihoodFacts. At full
//                   rank the centre can solve for all moments; a centre that deviates can ask any
//                   weights and gets there in few evaluations. Nobody else learns anything but the
//                   number and kind of evaluations.
// Cost              Per evaluation one request and one reply, independent of n; sizes as
//                   mpc/linear_oracle.h has them, with d = StatisticsLayout::size() and q = 1 or
//                   1 + parameters. The plan states the maximum; the run's traffic is set-up +
//                   evaluations x cost.
// Accuracy          Cells have f_in = 30 fraction bits: each z is off by at most 2^-31, which moves
//                   an estimate by at most about sqrt(n) 2^-31 / sd(z) standard errors (5e-6 at
//                   n = 1e6 and sd(z) = 0.1), usually much less since the errors average out.
//                   Weights: each row is divided by a power of two 2^e, known to the centre only,
//                   so that sum |w| < 2^6, and rounded to f_W = 40 bits (fewer beyond 2^19 rows:
//                   WeightFractionBits). An answer is exact for the rounded weights, and the fit
//                   makes up for the rounding with the statistics that the model implies
//                   (stats/sem/oracle_fit.h); what remains is at most
//                   2^(e - f_W - 1) sum |S - implied S|.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "methods/mle/fit/analysis.h"
#include "methods/mle/fit/result.h"
#include "methods/mle/moments/shared_moments.h"
#include "mpc/engine.h"
#include "stats/sem/oracle_fit.h"

namespace partita::methods::mle {

// f_in of this protocol.
inline constexpr int kLikelihoodFractionBits = 30;

struct LikelihoodTask {
  std::string name;                             // of the analysis; part of the release ids
  int fraction_bits = kLikelihoodFractionBits;  // f of the moments
  size_t max_rows = 0;     // public upper bound on the weighted rows of all groups together
  double value_bound = 1;  // of every value: MomentsTask::value_bound
  mpc::PartyIndex centre = 0;
  // Evaluations of either kind, at most. The references need up to 25 with gradient and 4 without.
  int max_values = 100;
  int max_gradients = 100;
  int integer_bits = 128;  // of the engine's integers
};

std::string GroupSizesRelease(const LikelihoodTask& task);
std::string ValueRelease(const LikelihoodTask& task);
std::string GradientRelease(const LikelihoodTask& task);

// The moments of one analysis, on shares.
struct LikelihoodMoments {
  std::vector<SharedMoments> groups;  // one entry per group of the analysis, in its order
  std::vector<size_t> variables;      // of the analysis, as indices into those of the moments
};

// Statistics per evaluation, rows of the two kinds of evaluation.
struct LikelihoodShape {
  size_t num_statistics = 0;
  size_t gradient_rows = 0;  // 1 + parameters
};
LikelihoodShape ShapeOf(const MleAnalysis& analysis);

// f_W = min(40, integer_bits - 3 - 6 - 2 f - ceil(log2(max_rows value_bound^2))). Throws kBadInput
// below 30: too many rows.
int WeightFractionBits(const LikelihoodTask& task);

// The three releases, as the plan declares them.
std::vector<mpc::Release> LikelihoodReleases(const MleAnalysis& analysis,
                                             const LikelihoodTask& task,
                                             const std::string& centre_name);

// Runs the protocol at every process. The result at the centre, empty elsewhere. Throws kBadInput,
// before anything is sent, for an analysis that asks for observed information (it needs more of the
// moments than the likelihood tells).
std::optional<MleResult> FitByLikelihood(mpc::Engine& engine, const MleAnalysis& analysis,
                                         const LikelihoodTask& task,
                                         const LikelihoodMoments& moments, Progress& progress);

}  // namespace partita::methods::mle
