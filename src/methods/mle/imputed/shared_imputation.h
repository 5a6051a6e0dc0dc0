// Multiple imputation of multivariate normal rows on shares, of which nobody learns more than the
// moments of the completed tables.
//
// Ideal function   (moments of patterns on shares, their counts public) -> m completed means and
//                  covariances of each group, on shares; one bit, whether everything stayed within
//                  the domain.
// Method           Data augmentation on the moments of patterns, the chain of
//                  stats/sem/imputation.h (Schafer 1997, chapter 5), m chains of each group at
//                  once. Parameters are drawn as an inverse covariance, H'H with H = W^1/2 S^-1/2:
//                  its block of the missing variables gives their regression on the observed ones
//                  and the residual's root. S^-1/2 is mpc/functions/matrix_root.h, of W ahead, the
//                  block's inverse that of S's (inverse.h, SolveFromGuess): no chain of pivots.
// Randomness       Every computing party draws its own: normals with variance 1 / P, Wishart
//                  matrices whose degrees add up. Their sums on shares have exactly the law that is
//                  wanted, and nobody knows them who does not know all parts.
// Revealed         Nothing. The noise is part of the imputation, not a protection: no privacy
//                  statement counts on it.
// Domain           That of shared_patterns.h; of completed covariances, in squared deviations,
//                  eigenvalues of at least 2^-14 and variances that add up to at most p +
//                  kLargestImputedVariance - 1; at least p + kRowsBeyondVariables rows in a group,
//                  and more rows than observed variables in a pattern. (Of the Wishart matrices,
//                  eigenvalues from 2^-9 to 12: left less than once in 10^10 draws.)
// Guard            Traces, what is left to do of every root, and how far Wishart matrices are from
//                  the identity are kept and compared together, later; what is beyond is counted,
//                  and nothing of the run opens. The first that leaves the domain is compared as
//                  it is, whatever is made of it (docs/decisions/0253).
// Cost             Rounds of a step: 35 products and cuts and 2 (dealer: 72); 36 once for what is
//                  drawn ahead, up to 2^21 numbers, 43 to check the last covariances and 10 to
//                  compare. Nothing but the counts' number of digits depends on the rows.
#pragma once

#include <vector>

#include "base/progress.h"
#include "methods/mle/imputed/imputation_chain.h"
#include "methods/mle/moments/shared_patterns.h"
#include "mpc/engine.h"
#include "stats/sem/imputation.h"

namespace partita::methods::mle {

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
