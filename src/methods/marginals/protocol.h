// All one-way and two-way tables, and the three-way ones that are named, on shares, opened once with
// noise.
//
// Ideal function   (every holder's codes, a noise share of every computing party) -> to `to`, or to
//                  everybody, the counts of all cells plus all noise, on the grid of 2^-20; where
//                  tables have
//                  weights, noise over the weight.
// Method           Tables of attributes that one holder has in a block are counted by it in the
//                  clear and shared. Of two holders the tables are blocks of X_a' X_b, X the 0/1 columns
//                  of all levels: one product for each two holders of a block, each holder's columns
//                  being masked once. Of a triple two columns of one holder are one, whose levels are
//                  their pairs: 0/1 columns of their own, masked once and multiplied with single columns
//                  of the other, never with its pairs; three holders are refused. Sums over holders and
//                  blocks are local. The vector is lifted to the grid by public factors, noise is added
//                  on shares, and it opens.
// Exactness        Whole numbers; nothing is truncated.
// Revealed         The noisy vector, once. To others, and beside it, nothing: messages depend on
//                  the numbers of rows of split blocks and on the levels, which are public.
// Cost             One round of products (none where no block is split) with the input of counts, the
//                  input of noise, one opening of num_cells elements: 2 rounds with a dealer, 4 on
//                  `replicated` and `shamir`, 6 on `ot`. O(n D_h) elements per holder of a split
//                  block.
// Memory           Rows are streamed; X is never whole.
#pragma once

#include <optional>
#include <vector>

#include "methods/marginals/noise_design.h"
#include "methods/marginals/task.h"

namespace partita::methods::marginals {

// 1 x num_cells, without fraction bits and without noise. local: by block; not used where
// engine.self() is empty. Begins no phase.
mpc::Shared CountOnShares(mpc::Engine& engine, const Task& task,
                          const std::vector<LocalBlock>& local);

// The noise of all computing parties, 1 x design.noise.dimension, on the grid; nobody knows all of
// it. One input. Throws kInternal if a computing party has no share.
mpc::Shared NoiseOnShares(mpc::Engine& engine, const NoiseDesign& design,
                          const std::vector<Int128>& own_share);

// Opens lifted counts of measured tables and noise, divided by the lifts; in counts, 0 of others,
// empty where they are not learned.
// own_share: of this computing
// party (DrawNoiseShare), empty at a dealer. Throws kInternal if a computing party has none.
std::optional<std::vector<double>> OpenTables(mpc::Engine& engine, const Task& task,
                                              const mpc::Shared& counts, const NoiseDesign& design,
                                              const std::vector<Int128>& own_share);

}  // namespace partita::methods::marginals
