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

// The sums of a block whose rows pass piece by piece, in any number of pieces: the same to the bit.
// Memory: the square of the number of variables, for every cell.
class PassingBlock {
 public:
  // `task` must outlive it; `self` holds the block alone.
  PassingBlock(const MomentsTask& task, size_t block, mpc::PartyIndex self);

  void Add(const LocalBlock& piece);
  // To be called once.
  LocalBlock Finish();

 private:
  const MomentsTask& task_;
  const RowBlock& block_;
  const BlockHolder& holder_;
  size_t num_rows_ = 0;
  OwnMoments own_;
};

// The same of a block whose rows somebody else added up: own has of every cell that is no difference the count, the
// sums, and the products of each variable with itself and those before it, in the order of the holder's.
LocalBlock BlockOfSums(const MomentsTask& task, size_t block, size_t num_rows, OwnMoments own);

// Of no rows yet.
OwnMoments NoMoments(const MomentsTask& task);

// local: one entry per block.
OwnMoments AddOwnMoments(const MomentsTask& task, mpc::PartyIndex self,
                         const std::vector<LocalBlock>& local);

}  // namespace partita::methods::mle
