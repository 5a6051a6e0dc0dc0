// Largest entries of the rows of shared matrices.
//
// Method    A tournament of the columns. RowMax: in blocks, all pairs of a block at once, of 240 / w
//           columns for comparisons of w bits, at least 2 and at most 24: so 20 columns of 47 bits
//           take two levels of 46 comparisons instead of five of 19. RowArgMax: neighbours are
//           compared, so that among equal ones the first wins, and the columns' numbers are carried
//           along. Exact, failure probability 0. Nothing is revealed.
// Rounds    RowMax: for every level of blocks of s columns LessThan (compare.h) +
//           ceil(log2(s - 1)) + D + 1; RowArgMax: ceil(log2 cols) (LessThan + D + 1), a column
//           without a partner waits.
// Bytes     for RowArgMax of rows of 20, 40 fraction bits, 82 (`dealer`) or 67 (`replicated`) sent
//           per entry by the busiest process.
// Timing    constant in shares; not in shapes and bounds (public). Proved by tests/ctime.
#pragma once

#include <span>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

// rows x 1 each. Throws kUsage for a matrix without columns.
std::vector<Shared> RowMax(Engine& engine, std::span<const Shared> values);

// The largest entry of every row and the number of its column, counted from 0 and without fraction
// bits; the first one if there are several. Both rows x 1.
struct Extreme {
  Shared value, column;
};
std::vector<Extreme> RowArgMax(Engine& engine, std::span<const Shared> values);

}  // namespace partita::mpc
