// The exponential function of shared values, whole arrays at a time.
//
// Domain    x <= largest, public, with e^largest < 2^46, and |x| <= bound(x). Far below zero the
//           result is 0: exactly 0 for x < -(f + 1) ln 2, where e^x is less than half a unit. f =
//           fraction_bits of the result: e^largest 2^f < 2^86, so f = 40 always fits and smaller
//           results may have more. Anything else: kBadInput, before anything is sent.
// Error     2^-f absolute (the last cut) plus 2^-39 relative; plus 2^-37.5 relative if e^largest
//           2^f > 2^80. Failure probability 0; the cuts round at random (Engine::Rescale).
// Method    u = x log2(e) + f + 1 = integer + z: the bits of u (compare.h), those of the integer as
//           ring elements, 2^integer as a product of 1 + bit (2^(2^k) - 1); 2^z a polynomial of
//           degree 8 (Remez' algorithm, relative error 2^-40.0 on [0, 1] as rounded). The sign bit
//           of u clears what lies below.
// Rounds    D = 1 (`dealer`) or 2 (`replicated`), w bits of u at 41 fraction bits:
//           4 D + 7 + ceil(log2(w - 1)) (on `replicated` the longest chain may be shorter).
// Bytes     for |x| <= 50 at f = 40 the busiest process sends 535 (`dealer`) or 420 (`replicated`)
//           per entry; all together 1540 or 1260.
// Timing    constant in shares; not in shapes and bounds (public). Proved by tests/ctime.
#pragma once

#include <span>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

struct BoundedAbove {
  Shared value;
  double largest = 0;
};

// e^x, one set of rounds for the list.
std::vector<Shared> Exponential(Engine& engine, std::span<const BoundedAbove> values,
                                int fraction_bits);

}  // namespace partita::mpc
