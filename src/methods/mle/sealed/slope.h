// Gradient, expected information and scoring step of a sealed fit.
//
// With U = d^-1 F B and V = d^-1 F B S B', every cell moves R by a b' + b a', a and b columns of U
// and V, so that gradient and information are entries of the Gram matrices of U and V under R^-1
// (stats/sem/objective.h; for what the observed information adds, observed.h). All samples
// in the same rounds. The information is scaled to a unit diagonal before it is inverted.
//
// An inverse that only shapes a step is InvertRoughly (mpc/functions/inverse.h) of the information
// and l I, l = 2^-16 for every parameter, which keeps rounding from making a singular information
// indefinite. Steps end where the gradient is zero, whatever l and the residual are. What opens
// comes from SlopeAt, whose inverses are checked.
#pragma once

#include "methods/mle/sealed/point.h"
#include "stats/sem/fit.h"

namespace partita::methods::mle {

// What scoring subtracts, k x 1, by the expected information; and Newton's method, by the observed
// one where that is positive definite and near the expected one, else what scoring does.
mpc::Shared ScoringStep(const SealedProblem& problem, const SealedPoint& at);
mpc::Shared NewtonStep(const SealedProblem& problem, const SealedPoint& at);

// All k x 1.
struct SealedSlope {
  mpc::Shared scaled;     // gradient / sqrt(expected information)
  mpc::Shared scale;      // 1 / sqrt(expected information)
  mpc::Shared inflation;  // diagonal of the inverse of the information, times scale^-2
  double smallest_inflation = 0.5;
};

// information_of: what is inverted. Where the observed information is not positive definite, as it
// may be away from a minimum, inflation is zero.
SealedSlope SlopeAt(const SealedProblem& problem, const SealedPoint& at,
                    stats::Information information_of = stats::Information::kExpected);

}  // namespace partita::methods::mle
