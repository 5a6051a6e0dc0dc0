// Largest entries of the rows of shared matrices.
//
// Method    A tournament of the columns: compare the first half with the second, select, repeat.
//           Exact, failure probability 0. Nothing is revealed.
//           RowArgMax carries the columns' numbers along: neighbours are compared, so that among
//           equal ones the first wins.
// Rounds    ceil(log2 cols) (LessThan + Select), compare.h; a column without a partner waits.
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
