// A party with whole rows, as a protocol needs it: public.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mpc/engine.h"

namespace partita::run {

struct RowHolder {
  mpc::PartyIndex party = 0;
  uint64_t max_rows = 0;  // of its blocks together, as declared or assumed
};

inline uint64_t MostRows(const std::vector<RowHolder>& holders) {
  uint64_t rows = 0;
  for (const RowHolder& holder : holders) rows += holder.max_rows;
  return rows;
}

// What a holder adds up over its rows, as an input of the protocol; a row adds at most `most`. own:
// row-major, at the holder; it must outlive the input.
inline mpc::PrivateMatrix SumsOfHolder(const mpc::Engine& engine, const RowHolder& holder,
                                       mpc::Shape shape, int fraction_bits, double most,
                                       const std::vector<Int128>& own) {
  mpc::PrivateMatrix input{
      holder.party, shape, fraction_bits, most * static_cast<double>(holder.max_rows), {}};
  if (engine.self() == holder.party) {
    input.read = [&own, cols = shape.cols](size_t first, size_t num, Int128* out) {
      std::copy_n(own.begin() + static_cast<std::ptrdiff_t>(first * cols), num * cols, out);
    };
  }
  return input;
}

}  // namespace partita::run
