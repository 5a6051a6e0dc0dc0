// Gradient, expected information and scoring step of a sealed fit.
//
// With U = d^-1 F B and V = d^-1 F B S B', every cell moves R by a b' + b a', a and b columns of U
// and V, so that gradient and information are entries of the Gram matrices of U and V under R^-1
// (stats/sem/objective.h). The information is scaled to a unit diagonal before it is inverted.
#pragma once

#include "methods/mle/sealed_point.h"

namespace partita::methods::mle {

// Of F: its expected value where the model is true, or the second derivatives at these samples.
enum class SealedInformation { kExpected, kObserved };

// All k x 1.
struct SealedSlope {
  mpc::Shared step;       // what scoring subtracts
  mpc::Shared scaled;     // gradient / sqrt(information)
  mpc::Shared scale;      // 1 / sqrt(information)
  mpc::Shared inflation;  // diagonal of the inverse of the information with a unit diagonal
};

// Where the observed information is no covariance's inverse, which it may be away from a minimum,
// the numbers mean nothing.
SealedSlope SlopeAt(const SealedProblem& problem, const SealedPoint& at,
                    SealedInformation information_of = SealedInformation::kExpected);

}  // namespace partita::methods::mle
