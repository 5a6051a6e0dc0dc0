// One step of a sealed fit: what it tries, the proof that it is a covariance, and what it takes.
//
// Candidates  Newton's step and half of it; the scoring step; its mean parameters alone, of a model
//             with means, which keep R and so are tried where R would go too far; 1/2, 1/4 and 1/16
//             of the scoring step. The first that passes and raises F by at most 2^-24 (means
//             alone: lowers it by 2^-4) is taken; none: the current point, with a better inverse.
// Inverse     X, symmetric and positive definite, is near the R^-1 of the current point. With E = I
//             - X R of a candidate (or of the current point), X_new = (I + E^8) (I + E^4) (I + E^2)
//             (I + E) X, symmetrised, is R^-1 but for E^16. X need not be exact: steps end where
//             the gradient is zero by an X that each of them has made better.
// Proof       X R is similar to a symmetric matrix. Where |E^4| < 1/2 in the Frobenius norm its
//             eigenvalues lie between 0.15 and 1.85, so that R is positive definite, and X_new,
//             similar to X times a positive polynomial of such a matrix, is so too. Rounding is
//             below 2^-31 where |E| <= 4. No failure probability; of incomplete rows one proof for
//             each pattern.
// Ranges      All are compared at once, at the widest bounds. In this order each is about true
//             numbers where those before it hold: theta within its box; sums of paths I + A, .. B
//             below 2^10; B S B' of the observed variables, then R, in the Frobenius norm below 16 p,
//             distances below 2^10; |E| <= 4; the proof; diagonals of R up to 16 and of X_new up
//             to 2^14, which bound all entries of positive definite matrices; F. Where one does not
//             hold numbers after it may be anything, and the candidate is not taken. What is cut is
//             so wide that `shamir` masks it uniformly (inverse.h of mpc/functions).
// F           log|R_new| - log|R| = -sum tr E^k / k, of which terms to 16 are taken, from inner
//             products of E, E^4 and E^8: only differences to the current point are compared. The
//             other terms (together at most 0.02) and E^16 in X_new (at most 1/16 of the trace along
//             any direction) may hide that a long step raises F; near the end both are far below
//             2^-24.
// Rounds      On `dealer`, besides the directions: candidates 1; Imply 6 and 2 for every path longer
//             than 1; E 2, its powers 8, F 1; comparison 8, number of faults 1 and whether it is
//             zero 4 or 5, the first that passes 3, to the ring 1, choice 1. Of several samples F
//             takes 3 more. Whatever the number of patterns, but for that of faults.
// Revealed    Nothing.
// Timing      Constant in shares; not in shapes and bounds (public).
#pragma once

#include "methods/mle/sealed/direction.h"
#include "methods/mle/sealed/point.h"

namespace partita::methods::mle {

// Of a point with its theta alone: what the model implies and inverses from InvertScaled, for which
// R has to be positive definite, as it is at starts: B S B' with a variance for every variable.
void BeginSteps(const SealedProblem& problem, SealedPoint& at);

// Replaces the point by the one that is taken, but for its value.
void TakeStep(const SealedProblem& problem, const SealedDirections& directions,
              SealedPoint& current);

}  // namespace partita::methods::mle
