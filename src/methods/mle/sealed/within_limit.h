// Guards before functions whose results, and on some engines whose masks, hold within a bound only.
#pragma once

#include <vector>

#include "mpc/engine.h"

namespace partita::methods::mle {

// Square matrices at kSealedBits, entries below their bound or kLargestEntry. Every one with an
// entry beyond +-limit becomes the identity, whoever computes with it next; the others stay and get
// the bound. How many entries of each were beyond, 1 x 1 without fraction bits. Rounds: a
// comparison, a test for zero, two conversions and a product, for any number of matrices. Revealed:
// nothing.
std::vector<mpc::Shared> KeepWithin(mpc::Engine& engine, const std::vector<mpc::Shared*>& matrices,
                                    double limit);

// Entries that have to be at most `most`, of shares that may be anything.
struct Limit {
  mpc::Shared value;
  double most = 0;
};

// How many entries of each list of limits are beyond, 1 x 1 without fraction bits. They are compared
// at the widest bounds. Rounds: a comparison and a conversion, for any number of lists. Revealed:
// nothing.
std::vector<mpc::Shared> CountBeyond(mpc::Engine& engine,
                                     const std::vector<std::vector<Limit>>& lists);

}  // namespace partita::methods::mle
