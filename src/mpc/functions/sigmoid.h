// The logistic function of shared values, whole arrays at a time.
//
// Domain    Any |x| <= bound(x); the result has f <= 56 fraction bits.
// Error     2^-f (the last cut) plus 2^-40, absolute. Failure probability 0; the cuts round at
//           random.
// Method    t = e^-|x|, which is at most 1, and 1 / (1 + t) or, for x < 0, one minus that. The
//           denominator lies between 1 and 2, so its reciprocal needs no search for a leading bit.
// Rounds    D = 1 (`dealer`) or 2 (`replicated`), w = BitsFor(x): after Exponential,
//           D + ceil(log2(w - 1)) + D + 1 for |x|, and 11 + D.
// Bytes     those of a comparison, of Exponential and about 12 products with their cuts: for
//           |x| <= 50 at f = 40 the busiest process sends 1050 (`dealer`) or 690 (`replicated`)
//           per entry; all together 2920 or 2060.
// Timing    constant in shares; not in shapes and bounds (public). Proved by tests/ctime.
#pragma once

#include <span>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

// 1 / (1 + e^-x).
std::vector<Shared> Sigmoid(Engine& engine, std::span<const Shared> values, int fraction_bits);

}  // namespace partita::mpc
