// max(x, y)^(-1/2) of shared columns whose size is not known: the end of a step's clipping
// (step.h).
#pragma once

#include "mpc/engine.h"

namespace partita::methods::mixture {

// Public: 0 <= values < 2^log2_largest; below 2^log2_floor the result is smaller than the inverse
// root (step.h).
struct RootRange {
  int log2_floor = 0, log2_largest = 0;
};

// n x 1 at 60 fraction bits. x and y have equal shapes and fraction bits, at least 58 -
// log2_largest; y may be negative by rounding. Relative error 6e-8 above the floor; never above
// max(x, y)^(-1/2) (1 + 6e-8). Rounds with D = 1 (`dealer`) or 2 (`replicated`), w bits of x:
// 2 D + ceil(log2(w - 1)) + 3 to know the size and the larger one, 10 + D for the root.
mpc::Shared InverseRootOfLarger(mpc::Engine& engine, const mpc::Shared& x, const mpc::Shared& y,
                                const RootRange& range);

inline constexpr int kRootBits = 60;

}  // namespace partita::methods::mixture
