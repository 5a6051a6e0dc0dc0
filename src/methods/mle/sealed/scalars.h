// Fit scalars and standard errors of a sealed fit, on shares.
#pragma once

#include "methods/mle/sealed/point.h"
#include "methods/mle/sealed/slope.h"

namespace partita::methods::mle {

// Covariances of every sample, and of its covariates: ScalarsAt takes the logarithms of their
// determinants.
std::vector<mpc::DefiniteMatrix> MatricesOfScalars(const SealedProblem& problem);

// 3 x 1 at kSealedBits, as SealedScalars has them.
mpc::Shared ScalarsAt(const SealedProblem& problem, const SealedPoint& at,
                      const std::vector<mpc::Shared>& log_dets);

// Roots of the diagonal of the inverse information of F, k x 1. Zero where the information
// cannot be inverted.
mpc::Shared DeviationsAt(const SealedProblem& problem, const SealedSlope& slope);

}  // namespace partita::methods::mle
