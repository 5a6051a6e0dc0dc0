// Gradient and informations of a sealed fit.
//
// With U = d^-1 F B and V = d^-1 F B S B', every cell moves R by a b' + b a', a and b columns of U
// and V, so that gradient and information are entries of the Gram matrices of U and V under R^-1
// (stats/sem/objective.h; for what the observed information adds, observed.h). All samples in the
// same rounds. R^-1 is what the point has for it.
//
// Rounds    Four products with their cuts and a cut, 9 on `dealer`; a product with its cut more
//           with means, and OverSamples. Revealed: nothing.
#pragma once

#include "methods/mle/sealed/point.h"
#include "stats/sem/fit.h"

namespace partita::methods::mle {

struct SealedDerivatives {
  mpc::Shared gradient;  // of F, k x 1
  mpc::Shared expected;  // information, k x k
  mpc::Shared observed;  // likewise, where asked for
};
SealedDerivatives DerivativesAt(const SealedProblem& problem, const SealedPoint& at,
                                stats::Information information);

}  // namespace partita::methods::mle
