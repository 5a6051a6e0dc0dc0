// Errors of clusters at level `sealed`: which rows belong together nobody learns, but who holds it.
//
// Clusters  A value of the clusters' variable at one holder: rows with it that share a block or not, whoever
//           holds the rest of them. Equal values at two holders are two clusters, as at level `iterates`.
// Method    The variable's holder has Z, n x V indicators of the V values that the dictionary allows, as a
//           fixed operand. Z'(r o X) of the residuals on shares are the sums of scores
//           (mpc/functions/cluster_sandwich.h). A value counts as a cluster where Z'1 over the rows that
//           take part is above 0. V is public, and the size of everything follows from it.
// Cost      n V numbers masked once for each block. Counts: a product of matrices, an input of V numbers for
//           each block of one holder, and for all rows and without each group of blocks a comparison of V
//           numbers for each holder of clusters. Scores: a product of n p numbers and a product of matrices.
// Memory    Two copies of n V numbers of 16 bytes, or as much as the engine keeps of them.
// Revealed  Nothing.
#pragma once

#include <vector>

#include "methods/glm/sealed/layout.h"
#include "methods/glm/sealed/shared_rows.h"

namespace partita::methods::glm {

// Z of every block, into its place. own: as of ShareBlocks; it must outlive the blocks.
void RegisterClusters(mpc::Engine& engine, const SealedLayout& layout,
                      const std::vector<OwnBlock>& own, std::vector<SharedBlock>& blocks);

// The number of clusters over all rows, and without those of each group where there are several; 1 x 1
// each.
std::vector<mpc::Shared> ClusterCounts(mpc::Engine& engine, const SealedLayout& layout,
                                       const std::vector<SharedBlock>& blocks,
                                       const std::vector<OwnBlock>& own);

// G, a row for each value at each holder of clusters; those of values without rows are 0. residuals: by
// block, n x 1, weighted.
mpc::Shared ScoresOfClusters(mpc::Engine& engine, const std::vector<SharedBlock>& blocks,
                             const std::vector<mpc::Shared>& residuals);

}  // namespace partita::methods::glm
