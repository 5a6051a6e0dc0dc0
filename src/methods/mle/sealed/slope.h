// Scaled gradient and inverse information at the end of a sealed fit: what the bit, standard errors
// and grids are from.
//
// The information is scaled to a unit diagonal and inverted by InvertPositive; every column of the
// inverse is checked by A X = I and its entries' size, at the widest bounds. Parameters that are not
// identified, whose inflation is beyond 2^18 (observed information: 2^17), or that an eigenvalue
// below 2^-23 k (2^-20 k) makes so, k the number of parameters, have no inflation. Rounds of the
// inverse with its check on `dealer`: 51 for 21 parameters, hardly more for more. Revealed: nothing.
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

// information_of: what is inverted. Inflation is zero where there is none, and where the observed
// information is not positive definite, as it may be away from a minimum.
SealedSlope SlopeAt(const SealedProblem& problem, const SealedPoint& at,
                    stats::Information information_of = stats::Information::kExpected);

}  // namespace partita::methods::mle
