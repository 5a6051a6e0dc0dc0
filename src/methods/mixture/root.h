// a max(x, y)^(-1/2) of shared columns x and y whose size is not known: the end of a step's clipping
// (step.h).
#pragma once

#include "mpc/engine.h"

namespace partita::methods::mixture {

// Public: 0 <= values < 2^log2_largest; below 2^log2_floor the result is smaller than with the
// inverse root (step.h).
struct RootRange {
  int log2_floor = 0, log2_largest = 0;
};

// n x K at `fraction_bits`, for a of n x K at 60 fraction bits with a <= max(x, y)^(1/2), and x, y of
// n x 1, of equal fraction bits, at least 44 - log2_largest; y may be negative by rounding. Error
// of the inverse root: 6e-8 relative above the floor, and never above max(x, y)^(-1/2) (1 + 6e-8).
// Rounds with D = 1 (`dealer`) or 2 (`replicated`), w bits of x - y: 2 D + ceil(log2(w - 1)) + 2 to
// know the size, with the larger one beside it, on `dealer` 2 less (mpc/window_carries.h); 9 for the
// rest.
mpc::Shared TimesInverseRootOfLarger(mpc::Engine& engine, const mpc::Shared& a,
                                     const mpc::Shared& x, const mpc::Shared& y,
                                     const RootRange& range, int fraction_bits);

}  // namespace partita::methods::mixture
