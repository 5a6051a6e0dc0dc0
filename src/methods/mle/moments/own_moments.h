// What a holder adds up alone, without anybody's help: the moments of its own columns in the cells
// whose rows it knows.
#pragma once

#include <vector>

#include "methods/mle/moments/moments_task.h"

namespace partita::methods::mle {

// By cell; sums have num_variables entries, cross num_variables^2, zero where another holder is
// needed.
struct OwnMoments {
  std::vector<Int128> counts, sums, cross;
};

// Whether the rows of `cell` in this block are known to `holder` alone, so that it can count them
// and add up its own columns: nobody else selects.
bool KnowsRows(const RowBlock& block, const BlockHolder& holder, size_t cell);

// The holder that counts the rows of the block that are in the cell, if one of them knows the rows:
// the one that selects, or else the first. Null if several select.
const BlockHolder* CountingHolder(const RowBlock& block, size_t cell);

// local: one entry per block.
OwnMoments AddOwnMoments(const MomentsTask& task, mpc::PartyIndex self,
                         const std::vector<LocalBlock>& local);

}  // namespace partita::methods::mle
