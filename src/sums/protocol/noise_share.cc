#include "sums/protocol/noise_share.h"

namespace partita::sums {

NoiseShare::NoiseShare(const Contract& contract) {
  if (contract.noise_law == NoiseLaw::kLaplace) {
    laplace_.emplace(contract.laplace_scale, SharesNeeded(contract));
  } else {
    gaussian_.emplace(ShareVariance(contract));
  }
}

void NoiseShare::Sample(crypto::RandomSource& random, std::span<Int128> out) const {
  if (laplace_) {
    laplace_->Sample(random, out);
  } else {
    gaussian_->Sample(random, out);
  }
}

}  // namespace partita::sums
