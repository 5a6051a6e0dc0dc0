// Whether there are enough rows, before a chain without a promise of privacy opens anything.
//
// Ideal function   (each party's counts) -> to everybody, one bit per count: whether the sum of all
//                  parties' reaches its minimum. Nothing else of the counts is revealed.
// Cost             An input, a comparison of counts of at most 40 bits, an opening.
#pragma once

#include <cstdint>
#include <vector>

#include "mpc/engine.h"

namespace partita::methods::mcmc {

inline constexpr char kRowChecksRelease[] = "disclosure";

mpc::Release RowChecksReleaseOf(size_t checks);

// own: as long as `minima`, below 2^32; empty at the dealer, where the result is empty too.
std::vector<bool> ReachMinima(mpc::Engine& engine, const std::vector<uint64_t>& own,
                              const std::vector<uint64_t>& minima);

}  // namespace partita::methods::mcmc
