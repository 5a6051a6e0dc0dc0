// Noise that m parties add together, so that nobody knows all of it.
//
// Each party draws its share itself and adds it to its input (R-b). With share variance s/(m - c)
// any m - c shares together have at least the variance s: c parties may pool what they know of
// their own noise, or fail to add it, and the rest still protects. The published sum then carries
// s m/(m - c). (Heikkila et al. 2017, Theorem 1, divides by N - T - 1: it protects from T colluding
// parties and one more that knows its own share, c = T + 1 here.)
#pragma once

#include <cstdint>

#include "privacy/sampling/discrete_gaussian_mechanism.h"
#include "privacy/sampling/grid_variance.h"

namespace partita::privacy {

struct NoiseSharing {
  uint32_t parties = 0;       // m >= 1: those who add a share
  uint32_t known_shares = 0;  // c < m: shares that the adversary knows or that may be missing
};

struct DistributedNoise {
  NoiseSharing sharing;
  GridVariance share_variance;  // what EVERY party draws from, exactly s/(m - c)
  size_t dimension = 1;
};

// variance: s, what must remain against the adversary. Throws kUsage if c >= m, or if m > 1 and a
// share's sigma is not above 4 grid units (then the sum is not close to a discrete Gaussian: use
// more fraction bits).
DistributedNoise ShareNoise(const GridVariance& variance, const NoiseSharing& sharing,
                            size_t dimension);

// The noise that remains against somebody who knows `known` of the shares: m - known shares. Throws
// kUsage if nothing remains.
DiscreteGaussianNoise RemainingNoise(const DistributedNoise& noise, uint32_t known);

}  // namespace partita::privacy
