// The sandwich of errors of clusters on shares, from what each cluster moves the estimates by.
//
// Input     G, C x p: the sum of weighted scores over the rows of each cluster, of whatever size; d and X
//           of scoring_step.h, made at the same point.
// Method    A = G diag(d) X / 2^ceil(unit_bits / 2), a row for each cluster, and X N X of sandwich.h is
//           2^(unit_bits mod 2) A'A: the meat G'G is never formed.
// Limits    Entries of A above 2^10 are 0 and counted as failures, and so are those of G diag(d) above
//           p 2^11 beside it. Neither loses a fit that could be told: the diagonal of X N X, which has to
//           be at most kMostInflation = 2^20, is the sum of the squares of A's columns; and G diag(d) =
//           A K with entries of K below 1 (information_inverse.h), so that an entry is at most p 2^10.
// Error     G: 2^-kLeastGroupedBits of 2^(unit_bits / 2), or less; G diag(d) 2^-40; A 2^-41 beside what X
//           errs by.
// Cost      A product of C p numbers, a product of matrices and their cuts; two comparisons of each of C p
//           numbers with limits, each with a product; the product A'A and a cut of p numbers.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
// Revealed  Nothing.
#pragma once

#include "mpc/engine.h"
#include "mpc/functions/sandwich.h"

namespace partita::mpc {

inline constexpr double kMostClusters = 0x1p19;  // C
// Fraction bits of G over 2^ceil(unit_bits / 2) when it meets d; with fewer kBadInput.
inline constexpr int kLeastGroupedBits = 40;

// failures: 1 x 1, is added to.
Sandwich SandwichOfClusters(Engine& engine, const Shared& scores, int unit_bits,
                            const Shared& scale, const Shared& inverse, Shared& failures);

}  // namespace partita::mpc
