// The last step: the M published sums become the private sum.
#pragma once

#include <span>
#include <vector>

#include "base/int128.h"
#include "sums/protocol/closing.h"

namespace partita::sums {

struct PrivateSum {
  uint32_t accepted = 0;       // clients in it
  Agreement agreement;         // under which it was opened
  std::vector<Int128> grid;    // the integers that were opened
  std::vector<double> values;  // grid * 2^-f, rounded to nearest
  double noise_stddev = 0;     // of each value: an upper bound, and an equality but for rounding
};

// Algorithm 1, step 3. Throws kUntrusted for a publication that its node did not sign, kRefused
// unless there is one of each node, all of the same set with at least N - T_drop uploads, and each
// made for the closings of all of them.
PrivateSum Aggregate(std::span<const Bytes> publications, const Contract& contract,
                     const NodeCertificates& nodes);

}  // namespace partita::sums
