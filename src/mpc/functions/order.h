// Sums along a public order (Engine::SelectRows): local, no communication, exact.
//
// Timing  constant in shares; not in shapes and bounds (public). Proved by tests/ctime.
#pragma once

#include <span>

#include "mpc/engine.h"

namespace partita::mpc {

// Row i of the result is the sum of the rows 0 .. i. n rows: ceil(log2 n) additions of the whole
// matrix. The bound grows n-fold; kBadInput if that does not fit.
Shared CumulativeSums(Engine& engine, const Shared& value);

}  // namespace partita::mpc
