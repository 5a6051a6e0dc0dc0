// Many runs of one release with noise that several parties add, as an adversary sees it: the
// published sum less every share that the adversary knows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/int128.h"
#include "crypto/random.h"
#include "privacy/audit/outputs.h"

namespace partita::privacy {

// Fills a vector with one party's noise, coordinates one after the other.
using ShareSampler = std::function<void(crypto::RandomSource&, std::span<Int128>)>;

struct SharedRelease {
  std::vector<ShareSampler> shares;   // by party
  std::vector<Int128> with, without;  // the statistic in the two worlds, grid units
};

enum class World { kWith, kWithout };

// One row per run: (statistic + all shares) - the shares of the parties listed in `known` -
// without, in grid units (an adversary may subtract what is public in both worlds; small numbers
// are exact as doubles). known: distinct parties; empty for the outside. Throws kUsage for
// parties that do not exist, or statistics of unlike length.
Outputs ObserveRuns(const SharedRelease& release, World world, std::span<const size_t> known,
                    uint64_t runs, crypto::RandomSource& random);

}  // namespace partita::privacy
