// Scaled gradient and inverse information at the end of a sealed fit: what the bit, standard errors
// and grids are from.
//
// The information is scaled to a unit diagonal and inverted by InvertPositive; every column of the
// inverse is checked by A X = I and its entries' size, at the widest bounds. Parameters that are not
// identified, whose inflation is beyond 2^18 (observed information: 2^17), or that an eigenvalue
// below 2^-23 k (2^-20 k) makes so, k the number of parameters, have no inflation. The gradient and
// the proof of what it is made of are compared in the same rounds. Rounds of the inverse with its
// check on `dealer`: 51 for 21 parameters, hardly more for more. Revealed: nothing.
#pragma once

#include <vector>

#include "methods/mle/sealed/point.h"
#include "methods/mle/sealed/within_limit.h"
#include "stats/sem/fit.h"

namespace partita::methods::mle {

struct SealedSlope {
  // Every |gradient| is at most the tolerance times the root of the expected information's diagonal,
  // and the proof holds. 1 x 1.
  mpc::SharedBits stationary;
  mpc::Shared faults;     // limits of the proof that do not hold; 1 x 1, no fraction bits
  mpc::Shared scale;      // 1 / sqrt(expected information), k x 1
  mpc::Shared inflation;  // diagonal of the inverse of the information, times scale^-2, k x 1
  double smallest_inflation = 0.5;
};

// information_of: what is inverted. Inflation is zero where there is none, where the observed
// information is not positive definite, as it may be away from a minimum, and where the proof, of
// the point's inverses, does not hold.
SealedSlope SlopeAt(const SealedProblem& problem, const SealedPoint& at,
                    stats::Information information_of, const std::vector<Limit>& proof);

}  // namespace partita::methods::mle
