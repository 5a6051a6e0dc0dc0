// Moments on shares: n, sums and cross products of every cell of rows, known to nobody.
//
// Method           Products of columns of one holder are computed by that holder where it knows
//                  which rows are in the cell. For each row block whose columns are split, every
//                  pair of holders (a, b) contributes one secure product X_a^T X_b. A cell whose
//                  rows one holder g selects (a grouping factor, a condition) uses g's weights d as
//                  secret factors: d o X_a is secret-shared, then (d o X_a)^T X_b. A cell that
//                  several holders select (missing values at each) first multiplies their weights
//                  into one shared column. Everything is summed on shares, so that no per-holder or
//                  per-block moment is ever visible.
// Source           Karr, Lin, Sanil & Reiter 2009 (matrix products of vertical parts); methods.md
//                  1.1, 1.2.
// Exactness        Values are integers with f_in fraction bits (data/holding.h), weights are whole
//                  numbers; nothing is truncated: a deterministic function of the inputs, the same
//                  for every engine, transport and run.
// Revealed         Nothing.
// Cost             One round of products for any number of holders, blocks and cells without
//                  selectors (engine `replicated` adds the sharing of the inputs); one more with
//                  one selecting holder; with h > 1 selecting holders h + 1 rounds. O(n (p_a +
//                  p_b)) ring elements for a pair and cell. The plan adds it up from this same
//                  code; tests assert the counters equal to it.
#pragma once

#include <vector>

#include "methods/mle/moments/moments_task.h"
#include "mpc/engine.h"

namespace partita::methods::mle {

// Of one cell, on the variables of the task.
struct SharedMoments {
  mpc::Shared count;  // 1 x 1, no fraction bits
  mpc::Shared sums;   // 1 x num_variables at f_in
  mpc::Shared cross;  // num_variables x num_variables at 2 f_in, symmetric
};

// By cell. local: one entry per block (ignored where `engine.self()` is empty). Begins no phase.
std::vector<SharedMoments> ComputeMoments(mpc::Engine& engine, const MomentsTask& task,
                                          const std::vector<LocalBlock>& local);

// A part of these sums: the secret products of the rows in `local`, and, if with_own, what the holders add
// up alone. own: that of this party, which may be of other rows than `local`; read if with_own and where
// this party holds anything. Bounds are those of the task, whose max_rows are all rows of the whole sum.
std::vector<SharedMoments> ComputeMomentsPart(mpc::Engine& engine, const MomentsTask& task,
                                              const std::vector<LocalBlock>& local, bool with_own,
                                              const OwnMoments* own);

// The entries (row, column) of a matrix as one row; costs nothing.
template <typename Entries>
mpc::Shared Gather(mpc::Engine& engine, const mpc::Shared& matrix, const Entries& entries) {
  std::vector<mpc::Shared> parts;
  for (const auto& [row, col] : entries) parts.push_back(engine.Slice(matrix, row, col, {1, 1}));
  return engine.Concatenate(parts, false);
}

}  // namespace partita::methods::mle
