// Gradient, expected information and scoring step of a sealed fit.
//
// With U = d^-1 F B and V = d^-1 F B S B', every cell moves R by a b' + b a', a and b columns of U
// and V, so that gradient and information are entries of the Gram matrices of U and V under R^-1
// (stats/sem/objective.h; for what the observed information adds, observed.h). All samples
// in the same rounds. The information is scaled to a unit diagonal before it is inverted.
#pragma once

#include "methods/mle/sealed/point.h"
#include "stats/sem/fit.h"

namespace partita::methods::mle {

// All k x 1.
struct SealedSlope {
  mpc::Shared step;       // what scoring subtracts
  mpc::Shared scaled;     // gradient / sqrt(expected information)
  mpc::Shared scale;      // 1 / sqrt(expected information)
  mpc::Shared inflation;  // diagonal of the inverse of the information, times scale^-2
  double smallest_inflation = 0.5;
};

// information_of: what is inverted. Where the observed information is not positive definite, as it
// may be away from a minimum, step and inflation are zero.
SealedSlope SlopeAt(const SealedProblem& problem, const SealedPoint& at,
                    stats::Information information_of = stats::Information::kExpected);

}  // namespace partita::methods::mle
