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

// Row k of the result is the sum of the rows order[0], ..., order[counts[k] - 1], zero for a count
// of 0. With subjects in order of falling time and counts[k] the number of subjects whose time is
// not below that of subject k, these are the sums over risk sets, with ties after Breslow.
Shared SumsOfFirst(Engine& engine, const Shared& value, std::span<const size_t> order,
                   std::span<const size_t> counts);

}  // namespace partita::mpc
