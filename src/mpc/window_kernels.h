// The tables of window_carries.h: which value the mask has in each window, and what follows from them.
//
// Timing  constant in bits; not in sizes and widths (public). Proved by tests/ctime.
#pragma once

#include <vector>

#include "mpc/bit_kernels.h"

namespace partita::mpc {

// Planes of the tables of numbers of `width` bits, at least 2: for each window those of its values 1,
// 2, ...
size_t WindowPlanes(size_t width);

// From planes of the numbers, `words` to a plane.
std::vector<uint64_t> TablesOf(ConstBitWords planes, size_t width, size_t words);

// As the fields of WindowCarries.
struct WindowShares {
  std::vector<uint64_t> propagate, block_generate, block_propagate, block_ones, block_agree;
};
// A party's shares, of the public planes c and its shares of the tables. carries_public: of one party.
WindowShares LookUp(ConstBitWords c, ConstBitWords tables, size_t width, size_t words,
                    bool carries_public);

}  // namespace partita::mpc
