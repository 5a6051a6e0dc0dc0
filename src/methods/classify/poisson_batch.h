// Poisson sampling with exact chances.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "privacy/sampling/discrete_gaussian.h"

namespace partita::methods::classify {

// The rows of one batch, in order: each of 0, ..., rows - 1 by a coin of its own, with the chance
// floor(rate 2^64) / 2^64, never above the rate that is charged. rate in (0, 1]; for 1 nothing is
// drawn.
//
// A coin is a number of 64 bits, big end first, that must be below rate 2^64. Its first byte
// settles it but for one value in 256; only then the other seven are drawn. Tape: the first bytes
// of all rows, then, row by row, the rest of those that need it. How much is drawn depends on the
// coins alone.
std::vector<Eigen::Index> DrawPoissonBatch(Eigen::Index rows, double rate,
                                           crypto::RandomSource& random);

}  // namespace partita::methods::classify
