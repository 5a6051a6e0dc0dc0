// A holder's matrix that is made row by row as it is sent, and never stands as a whole.
#pragma once

#include <algorithm>

#include "base/error.h"
#include "mpc/engine.h"
#include "run/method/row_holder.h"

namespace partita::methods::describe {

// max_rows x cols; set(row, out) fills a row in at the owner, on zeros, and lives until it was sent.
template <typename Set>
mpc::PrivateMatrix RowMatrix(const mpc::Engine& engine, const run::RowHolder& holder, size_t cols,
                             int fraction_bits, Set set) {
  mpc::PrivateMatrix matrix{holder.party, {holder.max_rows, cols}, fraction_bits, 1, {}};
  if (engine.self() != holder.party) return matrix;
  matrix.read = [set, cols](size_t first, size_t num, Int128* out) {
    std::fill_n(out, num * cols, Int128{0});
    for (size_t r = 0; r < num; ++r, out += cols) set(first + r, out);
  };
  return matrix;
}

// Throws kInternal where the holder brings another number of rows.
inline void RequireRows(const mpc::Engine& engine, const run::RowHolder& holder, size_t rows) {
  if (engine.self() == holder.party && rows != holder.max_rows)
    throw Error(ErrorCode::kInternal, "split columns have another number of rows than agreed");
}

}  // namespace partita::methods::describe
