// R^-1 of the point that opens, with its proof and without pivots.
//
// Steps leave X near R^-1: of a point that was taken with E = I - X R of |E^4| < 1/2 before, so that
// X R has eigenvalues within 1/16 of 1 now (trial.h). With that E, X_new = (I + E^8) (I + E^4) (I +
// E^2) (I + E) X, symmetrised, is R^-1 but for E^16, which is below 2^-64 then.
//
// Proof       In this order each is about true numbers where those before it hold: entries of X up
//             to 2^14 and of R up to 16; |E| <= 4 in the Frobenius norm; |E^8| <= 2^-10, so that
//             |I - X_new R| <= 2^-20; diagonals of X_new up to 2^14. Where one does not hold X_new
//             may be anything: the caller compares them (within_limit.h), and takes nothing that is
//             made of it. What is cut is so wide that `shamir` masks it uniformly.
// Rounds      10 on `dealer`: five products with their cuts, for any number of samples.
// Revealed    Nothing.
// Timing      constant in shares; not in shapes and bounds (public).
#pragma once

#include <vector>

#include "methods/mle/sealed/point.h"
#include "methods/mle/sealed/within_limit.h"

namespace partita::methods::mle {

// Replaces the inverses of the point.
std::vector<Limit> InvertLast(const SealedProblem& problem, SealedPoint& at);

}  // namespace partita::methods::mle
