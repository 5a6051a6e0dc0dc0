// Sample moments by Algorithm 1 or 3: sums and own cross products in the clear to the central node,
// one product of matrices for every two nodes of a block.
//
// Revealed to the centre: n, all means and the covariance matrix (level `sufficient-statistics`).
// Between the nodes: secure_matmul.h, transfer_products.h, for every pair.
#pragma once

#include <vector>

#include "crypto/random.h"
#include "methods/mle/published/normal.h"
#include "methods/mle/published/secure_matmul.h"
#include "stats/sem/moments.h"

namespace partita::methods::mle::published {

enum class ProductMethod { kMatmul, kTransfer };

// At the centre: moments by group in the units of the rows.
std::vector<stats::GroupMoments> CollectMoments(net::Channel& channel, const Layout& layout,
                                                ProductMethod method);
// At a node.
void ContributeMoments(net::Channel& channel, const Layout& layout, const OwnRows& rows,
                       ProductMethod method, crypto::RandomSource& random);

// What kMatmul tells, by pair of nodes.
std::vector<MatmulLeakage> MatmulLeakages(const Layout& layout);

}  // namespace partita::methods::mle::published
