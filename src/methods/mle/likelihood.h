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
// Revealed          To the centre: release `group-sizes` once; `likelihood-value` and
//                   `likelihood-gradient` as often as it asks, up to a declared maximum. What these
//                   add up to is the rank of the weights asked: LikelihoodFacts. At full rank the
//                   centre can solve for all moments; a centre that deviates can ask any weights
//                   and gets there in few evaluations. Nobody else learns anything but the number
//                   and kind of evaluations.
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
#include <vector>

#include "methods/mle/analysis.h"
#include "methods/mle/result.h"
#include "mpc/engine.h"
#include "stats/sem/oracle_fit.h"

namespace partita::methods::mle {

inline constexpr char kGroupSizesRelease[] = "group-sizes";
inline constexpr char kValueRelease[] = "likelihood-value";
inline constexpr char kGradientRelease[] = "likelihood-gradient";

// f_in of this protocol.
inline constexpr int kLikelihoodFractionBits = 30;

// Shared moments of the analysis variables (z in [-1, 1]), by group. Entry bounds are replaced by
// what max_rows implies.
struct SharedStatistics {
  mpc::Shared counts;              // 1 x groups, 0 fraction bits
  std::vector<mpc::Shared> sums;   // 1 x p, f bits
  std::vector<mpc::Shared> cross;  // p x p, 2 f bits
};

struct LikelihoodTask {
  int fraction_bits = kLikelihoodFractionBits;  // f of the statistics
  size_t max_rows = 0;                          // public upper bound on the rows of all groups
  mpc::PartyIndex centre = 0;
  int max_values = 100;  // evaluations of either kind, at most
  int max_gradients = 100;
};

// Statistics per evaluation, rows of the two kinds of evaluation.
struct LikelihoodShape {
  size_t num_statistics = 0;
  size_t gradient_rows = 0;  // 1 + parameters
};
LikelihoodShape ShapeOf(const MleAnalysis& analysis);

// f_W = min(40, 125 - 6 - 2 f - ceil(log2 max_rows)). Throws kBadInput below 30: too many rows.
int WeightFractionBits(const LikelihoodTask& task);

// The three releases, as the plan declares them.
std::vector<mpc::Release> LikelihoodReleases(const MleAnalysis& analysis,
                                             const LikelihoodTask& task,
                                             const std::string& centre_name);

// Runs the protocol at every process. The result at the centre, empty elsewhere. Throws kBadInput,
// before anything is sent, for an analysis that asks for observed information (it needs more of the
// moments than the likelihood tells) or is robust.
std::optional<MleResult> FitByLikelihood(mpc::Engine& engine, const MleAnalysis& analysis,
                                         const LikelihoodTask& task,
                                         const SharedStatistics& statistics, Progress& progress);

}  // namespace partita::methods::mle
