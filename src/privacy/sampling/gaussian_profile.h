// The privacy profile of Gaussian noise as an interval: Balle & Wang (ICML 2018), Theorem 8.
#pragma once

#include "privacy/sampling/interval.h"

namespace partita::privacy {

// delta(epsilon) for L2 sensitivity D and standard deviation s, both positive. The precision is
// raised until the interval is narrower than 2^-60 of the value, however small that is; beyond
// epsilon = 2^28 it is [0, delta(2^28)].
PreciseInterval GaussianProfile(const PreciseInterval& sensitivity, const PreciseInterval& stddev,
                                double epsilon);

}  // namespace partita::privacy
