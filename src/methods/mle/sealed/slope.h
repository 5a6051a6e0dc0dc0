// Scaled gradient and inverse information at the end of a sealed fit: what the bit, standard errors
// and grids are from. The information is scaled to a unit diagonal before it is inverted, and the
// inverse is checked.
#pragma once

#include "methods/mle/sealed/point.h"
#include "stats/sem/fit.h"

namespace partita::methods::mle {

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
