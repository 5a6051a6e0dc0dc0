// Errors of clusters at level `sealed`: which rows belong together nobody learns, but who holds it.
//
// Clusters  A value of the clusters' variable at one holder: rows with it that share a block or not, whoever
//           holds the rest of them. Equal values at two holders are two clusters, as at level `iterates`.
// Method    The variable's holder has Z, n x V indicators of the V values that the dictionary allows, as a
//           fixed operand. Z'(r o X) of the residuals on shares are the sums of scores
//           (mpc/functions/cluster_sandwich.h). V is public, and the size of everything follows from it.
// Counted   A value of which its holder has a row that it does not leave out itself, so that it knows their number
//           beforehand. Of which rows others leave out the number tells nothing; one that they leave out
//           whole counts, with scores of 0.
// Largest   The scores of all rows are 0 together at the maximum. If all but k rows were one cluster, its own would
//           be those of the k rows, and errors a function of these alone. So Z'1 over the rows that take part,
//           copies counted, is at most half of these, of every value; counts.h compares it.
// Cost      n V numbers masked once for each block. Counts: a product of matrices, an input of V numbers for
//           each block of one holder, and of a number for all rows and without each group of blocks for each
//           holder of clusters. Scores: a product of n p numbers and a product of matrices.
// Memory    Two copies of n V numbers of 16 bytes, or as much as the engine keeps of them.
// Revealed  Nothing.
#pragma once

#include <vector>

#include "methods/glm/counts.h"
#include "methods/glm/sealed/layout.h"
#include "methods/glm/sealed/shared_rows.h"

namespace partita::methods::glm {

// Z of every block, into its place. own: as of ShareBlocks; it must outlive the blocks.
void RegisterClusters(mpc::Engine& engine, const SealedLayout& layout,
                      const std::vector<OwnBlock>& own, std::vector<SharedBlock>& blocks);

// Clusters that the rows may have at most: of all, then of those without each group where there are several, as
// CountClusters counts them. A holder has the values that the dictionary allows, and no more than its rows.
std::vector<uint64_t> MostClusters(const SealedLayout& layout);

// by_group: CountsByGroup.
SealedClusters CountClusters(mpc::Engine& engine, const Task& task, const SealedLayout& layout,
                             const std::vector<SharedBlock>& blocks,
                             const std::vector<OwnBlock>& own,
                             const std::vector<mpc::Shared>& by_group);

// G, a row for each value at each holder of clusters; those of values without rows are 0. residuals: by
// block, n x 1, weighted.
mpc::Shared ScoresOfClusters(mpc::Engine& engine, const std::vector<SharedBlock>& blocks,
                             const std::vector<mpc::Shared>& residuals);

}  // namespace partita::methods::glm
