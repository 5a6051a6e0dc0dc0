// Pooled moments that are opened with noise: one differentially private release, from which every
// analysis of a study is computed.
//
// Ideal function   (every holder's cells, a noise share of every computing party) -> for every cell
//                  of rows: sums and upper triangle of cross products of the CLIPPED rows plus all
//                  noise, to the receiver only; the count too, exactly where it is public and with
//                  noise where it is not.
// Method           Each holder clips its own p_h of the p values of a row to C_h = C sqrt(p_h / p)
//                  (clipping.h), so that the whole row z has |z|_2 <= C. The moments are computed
//                  on shares (shared_moments.h) at f = 24 fraction bits; sums and counts are lifted
//                  to the 2f bits of the cross products by a public shift, so that the vector lives
//                  on ONE grid (R-e). Every computing party draws discrete Gaussian noise itself
//                  and adds it on shares (R-b; distributed_noise.h). Nothing is truncated.
// Sensitivity      Delta of moments_sensitivity.h, times max_rows_per_person. Where which cell a
//                  row belongs to, or whether it belongs to any, depends on data (groups, subsets,
//                  incomplete rows), the counts are in the noised vector, and
//                    add/remove: one cell changes by (1, T(z)): Delta_ar with the count;
//                    replace:    sqrt(2) Delta_ar. Proof. Let the row z in cell a become w in cell
//                    b (either may be no cell, which contributes 0). If a != b the changes stand in
//                    different coordinates: squared they are |(1, T(z))|^2 + |(1, T(w))|^2
//                    <= 2 Delta_ar^2. If a = b the count does not change and |T(z) - T(w)|^2 <=
//                    max(2 C^4 + 2 C^2 + 1/2, 4 C^2) (moments_sensitivity.h) <= 2 (C^4 + C^2 + 1) =
//                    2 Delta_ar^2, because 2 C^2 <= 1 + C^4.  []
//                  A release of only some entries is a projection and changes less.
// Revealed         To the receiver: the vector above, once. To everybody else: nothing.
// Cost             That of shared_moments.h, the input of the shares, one opening.
#pragma once

#include <string>
#include <vector>

#include "methods/mle/fit/analysis.h"
#include "methods/mle/moments/moments_task.h"
#include "methods/mle/moments/pooled_moments.h"
#include "methods/mle/moments/shared_moments.h"
#include "privacy/sampling/distributed_noise.h"
#include "stats/sem/noise.h"

namespace partita::methods::mle {

inline constexpr int kPrivateFractionBits = 24;  // f_in: sigma is above 4 grid units by far

// What the study file promises.
struct PrivacyPromise {
  double epsilon = 0, delta = 0;
  privacy::Adjacency adjacency = privacy::Adjacency::kReplace;
  double norm = 1;            // C
  uint32_t known_shares = 1;  // noise shares that the adversary may know
  int max_rows_per_person = 1;
};

// Everything public about the noise of one release; the same at every party.
struct PrivateMoments {
  PrivacyPromise promise;  // norm: at most sqrt(p), which no row exceeds
  MomentsRelease release;
  size_t dimension = 0;       // p: columns that are clipped together
  bool public_count = false;  // one cell whose count nobody's data decide; only under replace
  size_t num_noised = 0;      // coordinates of the noised vector
  privacy::GridL2Sensitivity sensitivity{1};          // at 2f bits, under the named adjacency
  privacy::GridL2Sensitivity replace_sensitivity{1};  // when a row of another party is replaced
  privacy::DistributedNoise noise;
};

// Calibrated so that the noise of all computing parties but known_shares meets the promise, rounded
// to the safe side. Throws kUsage for a promise out of range.
PrivateMoments DesignPrivateMoments(const PrivacyPromise& promise, const MomentsTask& task,
                                    const MomentsRelease& release, uint32_t num_computing);

// C_h, rounded down such that the squares of all holders of a row add up to C^2 at most.
double HolderBound(double norm, size_t own_columns, size_t all_columns);

// `values` with every row clipped to an L2 norm of at most `bound`.
mpc::RowReader ClippedRows(mpc::RowReader values, size_t columns, double bound);

// A computing party's own share: num_noised grid units. Not in constant time: to be drawn before
// the protocol, when nobody waits (discrete_gaussian.h).
std::vector<Int128> DrawNoiseShare(const PrivateMoments& design, crypto::RandomSource& random);

// Of one cell, on the variables of the task, all with noise: grid units of 2^-2f. What was not
// opened is zero.
struct NoisedMoments {
  Int128 count = 0;  // rows if the count is public, else grid units
  std::vector<Int128> sum, cross;
};

// One entry per cell of the release at the receiver, an empty vector elsewhere. own_share: of this
// computing party, empty at the dealer.
std::vector<NoisedMoments> OpenPrivateMoments(mpc::Engine& engine, const MomentsTask& task,
                                              const std::vector<SharedMoments>& shared,
                                              const PrivateMoments& design,
                                              const std::vector<Int128>& own_share);

// Standard deviation of the noise in each released number, in the units of z and z z'.
double NoiseStddev(const PrivateMoments& design);

// Post-processing at the receiver, on the analysis's variables (indices into the task's): counts
// rounded and floored, covariances made positive definite (eigenvalues, in the units of z, floored
// at the noise's standard deviation over n), then maximum likelihood, with standard errors that
// contain the noise (stats/sem/noise.h). Notes say all of it. Throws kBadInput for moments that
// cannot be fitted.
MleResult FitPrivateMoments(const MleAnalysis& analysis, const PrivateMoments& design,
                            const std::vector<size_t>& variables,
                            const std::vector<NoisedMoments>& groups, Progress& progress);

// The noise as stats/sem/noise.h wants it.
stats::MomentNoise NoiseOf(const MleAnalysis& analysis, const PrivateMoments& design);

// "discrete Gaussian, sigma = 3.1e-2, eps = 1, delta = 1e-6, replace": sigma of the sum of all
// shares in the units of z.
std::string MechanismText(const PrivateMoments& design);

}  // namespace partita::methods::mle
