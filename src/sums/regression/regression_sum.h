// A regression on a private sum, in one process: what a collection would come to.
#pragma once

#include "crypto/random.h"
#include "sums/protocol/contract.h"
#include "sums/regression/fit.h"
#include "sums/regression/rows.h"
#include "sums/regression/spec.h"

namespace partita::sums::regression {

struct SimulatedSum {
  ReleasedSum sum;
  double wall_seconds = 0;
  uint64_t upload_bytes = 0;  // of all clients
};

// One client per row, through the client's and the compute nodes' arithmetic and encryption (keys
// of registered clients), with the noise of the contract. Fewer rows than planned clients are
// clients that did not arrive. Throws kBadData for more rows than clients, or fewer than may stay
// away.
SimulatedSum SimulateSum(const Spec& spec, const stats::blr::Design& design,
                         const Contract& contract, const Rows& rows, crypto::RandomSource& random);

// What an opened sum is to the estimator: entries, clients, and the noise that arrived.
ReleasedSum ReleasedOf(const Contract& contract, uint32_t accepted, std::vector<Int128> grid);

}  // namespace partita::sums::regression
