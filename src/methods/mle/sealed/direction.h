// Where a step of a sealed fit goes: by Fisher scoring, and by Newton's method.
//
// The informations are scaled by powers of two to a diagonal of at most 1, D I D and D H D. Scoring
// takes d = D Y D g, where Y is InvertRoughly (mpc/functions/inverse.h) of D I D and l I, l = 2^-16
// for every parameter, which keeps rounding from making a singular information indefinite. Steps
// end where the gradient is zero, whatever l and the residual are.
//
// Newton's method takes D (I + E^8) (I + E^4) (I + E^2) (I + E) a Y D g with a = 13/16 and E = I -
// a Y D H D, the series of (D H D)^-1 up to E^15. Where |E^8| in the Frobenius norm is less than
// 0.9 all eigenvalues of a Y D H D, those of a symmetric matrix, lie between 0 and 2, so that H is
// positive definite as Y is, and so is the sum; where D H D and E are small, too, nothing on the
// way to E^8 has left its bound. Whoever takes the direction must know that all three hold.
//
// Rounds    Derivatives, and 39 on `dealer`: sizes of the diagonal 11, products with the scales 3,
//           inverse 21, scoring's step 3, a last product 1; Newton's 8 more. Revealed: nothing.
#pragma once

#include <vector>

#include "methods/mle/sealed/point.h"
#include "methods/mle/sealed/within_limit.h"
#include "stats/sem/fit.h"

namespace partita::methods::mle {

inline constexpr int kDirectionBits = 67;  // fraction bits: a product that is not cut

// What a full step subtracts from theta, k x 1. `newton` where the observed information is asked
// for; it descends where `proof` holds.
struct SealedDirections {
  mpc::Shared scoring, newton;
  std::vector<Limit> proof;
};
SealedDirections DirectionsAt(const SealedProblem& problem, const SealedPoint& at,
                              stats::Information information);

// Inverses of positive definite matrices, p x p, with diagonals in [2^-20, 2^30), by InvertPositive of
// what powers of two scale to a diagonal of at most 1: right for eigenvalues of that of at least
// 2^-16 p. 43 rounds on `dealer`.
std::vector<mpc::Shared> InvertScaled(mpc::Engine& engine,
                                      const std::vector<mpc::Shared>& matrices);

}  // namespace partita::methods::mle
