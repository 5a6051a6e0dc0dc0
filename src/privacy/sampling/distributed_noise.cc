#include "privacy/sampling/distributed_noise.h"

#include <fmt/format.h>

#include "base/error.h"

namespace partita::privacy {

DistributedNoise ShareNoise(const GridVariance& variance, const NoiseSharing& sharing,
                            size_t dimension) {
  if (sharing.known_shares >= sharing.parties) {
    throw Error(ErrorCode::kUsage,
                fmt::format("noise of {} parties does not protect from {} of them", sharing.parties,
                            sharing.known_shares),
                "assume fewer colluding parties");
  }
  DistributedNoise noise;
  noise.sharing = sharing;
  noise.share_variance = Divide(variance, sharing.parties - sharing.known_shares);
  noise.dimension = dimension;
  ShareGap(noise.share_variance, sharing.parties);  // throws if the shares are too small
  return noise;
}

DiscreteGaussianNoise RemainingNoise(const DistributedNoise& noise, uint32_t known) {
  if (known >= noise.sharing.parties) {
    throw Error(ErrorCode::kUsage,
                fmt::format("no noise remains against those who know {} of {} shares", known,
                            noise.sharing.parties));
  }
  return {noise.share_variance, noise.sharing.parties - known, noise.dimension};
}

}  // namespace partita::privacy
