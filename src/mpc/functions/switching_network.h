// Permutations as networks of switches: pairs of places that are exchanged or not.
//
// The network of Beauquier & Darrot ("On arbitrary size Waksman networks and their vulnerability",
// Parallel Processing Letters 2002) without the switches that it could save: n places, any n,
// 2 ceil(log2 n) - 1 layers of at most n / 2 switches that touch different places. Which places a
// switch joins depends on n only, its setting on the permutation; every permutation can be set.
//
// Timing  NOT constant: the permutation decides which places are visited in which order, and
//         rejection how many words are drawn. Each party does it alone, on its own machine; the
//         order of a shuffle stays hidden behind the permutation of any other honest party.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "crypto/random.h"

namespace partita::mpc {

struct SwitchLayer {
  std::vector<std::pair<size_t, size_t>> places;
  std::vector<uint8_t> exchange;  // 1: the two places are exchanged
};

// Layers that bring what is at from[i] to place i, for a permutation `from` of 0 .. n - 1 (kUsage
// for anything else).
std::vector<SwitchLayer> RoutePermutation(std::span<const size_t> from);

// The same in fewer layers, up to kMostRowsInBlocks places: blocks of up to 8 of them, in the middle
// layer of up to 16, each permuted in any way. ceil((ceil(log2 n) - 4) / 3) layers before and after
// the middle one, so 1 for up to 16 places, 3 for 128, 5 for 1024. For more places, whose many
// blocks would take longer to compute than rounds to wait for, the switches as they are. Which
// places form a block depends on n only.
inline constexpr size_t kMostRowsInBlocks = size_t{1} << 14;
struct BlockLayer {
  std::vector<std::vector<size_t>> places;  // of every block, at least two
  std::vector<std::vector<size_t>> from;    // its i-th place takes what is at its from[i]-th
};
std::vector<BlockLayer> RouteBlocks(std::span<const size_t> from);

// A uniformly random permutation, exactly (Fisher & Yates; rejection, no remainders).
std::vector<size_t> RandomPermutation(size_t size, crypto::RandomSource& random);

}  // namespace partita::mpc
