// How far a column of values is negative from its top: where a function that rises through public
// points meets zero.
//
// Rounds    IsNegative, ToRing, IsZero of a count of up to k, ToRing.
// Bytes     2 k comparisons' worth.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
// Revealed  Nothing.
#pragma once

#include "mpc/engine.h"

namespace partita::mpc {

// values: k x 1. k x 1: 1 where this entry and all before it are negative, else 0.
Shared LeadingNegatives(Engine& engine, const Shared& values);

}  // namespace partita::mpc
