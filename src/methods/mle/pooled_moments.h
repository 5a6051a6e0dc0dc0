// Pooled moments: n, sums and cross products over all rows, opened to one receiver and to nobody
// else.
//
// Ideal function   (every holder's cells) -> for every group: n, sum z, sum z z^T, to the receiver
// only. Method           Products of columns of one holder are computed by that holder. For each
// row block whose columns are split,
//                  every pair of holders (a, b) contributes one secure product X_a^T X_b. With a
//                  grouping factor held by holder g of a split block, g's 0/1 indicators d_k enter
//                  as secret products: d_k o X_a is secret-shared, then (d_k o X_a)^T X_b; the last
//                  group is the total less the others. Everything is summed on shares before the
//                  one opening, so that no per-holder or per-block moment is ever visible.
// Source           Karr, Lin, Sanil & Reiter 2009 (matrix products of vertical parts);
// methods.md 1.1, 1.2. Exactness        Inputs are integers with f_in fraction bits
// (data/holding.h); nothing is truncated: the result is a
//                  deterministic function of the inputs, the same for every engine, transport and
//                  run.
// Revealed         To the receiver: the moments of each group (release `moments`, once). To
// everybody else: nothing. Public
//                  beforehand: who holds which columns of which blocks, the counts of split blocks,
//                  the groups.
// Cost             Single group: one round of products and one opening for any number of holders
// and blocks (engine
//                  `replicated` adds the sharing of the inputs). O(n (p_a + p_b)) ring elements for
//                  a pair. With groups one more round. The plan adds it up from this same code;
//                  tests assert the counters equal to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mpc/engine.h"

namespace partita::methods::mle {

inline constexpr char kMomentsRelease[] = "moments";

// One holder's part of a row block.
struct BlockHolder {
  mpc::PartyIndex party = 0;
  std::vector<size_t> variables;  // indices into the analysis variables
  bool holds_group = false;       // holds the grouping factor for the rows of this block
};

struct RowBlock {
  std::string name;
  std::optional<size_t> count;  // public number of rows; required when there are several holders
  std::vector<BlockHolder> holders;
};

// The public description of the computation.
struct MomentsTask {
  size_t num_variables = 0;
  size_t num_groups = 1;
  int fraction_bits = 50;  // f_in
  size_t max_rows = 0;     // public upper bound on the rows of all blocks; bounds the sums
  std::vector<RowBlock> blocks;
  mpc::PartyIndex receiver = 0;
};

// What this party knows of one block; `values` is empty where it holds nothing. Columns in the
// order of BlockHolder::variables, values in [-1, 1] at fraction_bits; group codes 0..num_groups-1.
struct LocalBlock {
  size_t num_rows = 0;
  mpc::RowReader values;
  std::vector<int32_t> groups;  // where holds_group
};

// Exact integer moments of one group: sum at fraction_bits, cross at 2 * fraction_bits (full
// symmetric matrix).
struct IntegerMoments {
  Int128 n = 0;
  std::vector<Int128> sum;
  std::vector<Int128> cross;  // row-major
};

// Ring elements of the one opening: per group a count, sums and cross products.
uint64_t NumReleasedValues(const MomentsTask& task);

// Runs the protocol. local: one entry per block (ignored where `engine.self()` is empty). Returns
// the moments by group at the receiver, an empty vector elsewhere.
std::vector<IntegerMoments> PooledMoments(mpc::Engine& engine, const MomentsTask& task,
                                          const std::vector<LocalBlock>& local);

// The same quantity in the clear, from all blocks' values at once: the oracle of the tests.
// values[block] is row-major count x num_variables, groups[block] has one code per row (empty for
// one group).
std::vector<IntegerMoments> PlaintextMoments(const MomentsTask& task,
                                             const std::vector<std::vector<Int128>>& values,
                                             const std::vector<std::vector<int32_t>>& groups);

}  // namespace partita::methods::mle
