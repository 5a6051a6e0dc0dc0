// Fit scalars and standard errors of a sealed fit, on shares.
#pragma once

#include "methods/mle/sealed/point.h"
#include "methods/mle/sealed/slope.h"

namespace partita::methods::mle {

// 3 x 1 at kSealedBits, as SealedScalars has them.
mpc::Shared ScalarsAt(const SealedProblem& problem, const SealedPoint& at);

// Roots of the diagonal of the inverse information of F, k x 1. Zero where the information
// cannot be inverted.
mpc::Shared DeviationsAt(const SealedProblem& problem, const SealedSlope& slope);

}  // namespace partita::methods::mle
