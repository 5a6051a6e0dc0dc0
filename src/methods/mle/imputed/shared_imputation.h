// Multiple imputation of multivariate normal rows on shares, of which nobody learns more than the
// moments of the completed tables.
//
// Ideal function   (moments of patterns on shares, their counts public) -> m completed means and
//                  covariances of each group, on shares; one bit, whether everything stayed within
//                  the domain.
// Method           Data augmentation on the moments of patterns, the chain of
//                  stats/sem/imputation.h (Schafer 1997, chapter 5), m chains of each group at
//                  once. One LDL' of the covariance in the order observed, missing gives both the
//                  regression on the observed variables, L_mo L_oo^-1, and the residual's root; so
//                  a step costs that factor and the one of the completed covariance.
// Randomness       Every computing party draws its own: normals with variance 1 / P, Wishart
//                  matrices whose degrees add up. Their sums on shares have exactly the law that is
//                  wanted, and nobody knows them who does not know all parts.
// Revealed         Nothing. The noise is part of the imputation, not a protection: no privacy
//                  statement counts on it.
// Domain           That of shared_patterns.h; variances of parameters at most
//                  kLargestImputedVariance and pivots at least 2^-14, in squared deviations; at
//                  least p + kRowsBeyondVariables rows in a group, and more rows than observed
//                  variables in a pattern.
// Guard            A covariance beyond the domain is replaced by the identity before it is factored
//                  (within_limit.h), counted, and nothing of the run opens.
// Cost             Rounds of a step: those of two guards, factors and roots, 2 ceil(log2 p) and
//                  about ten products. Nothing but the counts' number of digits depends on the
//                  rows.
#pragma once

#include <vector>

#include "base/progress.h"
#include "methods/mle/moments/shared_patterns.h"
#include "mpc/engine.h"
#include "stats/sem/imputation.h"

namespace partita::methods::mle {

inline constexpr double kLargestImputedVariance = 64;
inline constexpr size_t kRowsBeyondVariables = 10;

struct ImputedMoments {
  mpc::Shared mean;        // p x 1, half-widths
  mpc::Shared covariance;  // p x p, divisor n
};

struct SharedImputations {
  std::vector<std::vector<ImputedMoments>> groups;  // by group and imputation
  mpc::Shared beyond;  // 1 x 1 without fraction bits: 0 where everything stayed within the domain
};

// tapes: at parties, one for every group and imputation (group g, imputation i: g m + i), of this
// party's own randomness. Elsewhere empty.
SharedImputations ImputeOnShares(mpc::Engine& engine, const std::vector<SharedPatterns>& groups,
                                 const stats::ImputationOptions& options,
                                 const std::vector<stats::ImputationTape*>& tapes,
                                 Progress& progress);

}  // namespace partita::methods::mle
