// What one client, or one compute node, adds to the sum: a draw of the contract's law on the grid.
//
//   Gaussian  discrete Gaussian of ShareVariance
//   Laplace   a share of SharesNeeded (m) of discrete Laplace noise of scale t (polya.h)
//
// Laplace: the shares of any m who follow the protocol add up to exactly the discrete Laplace law
// of scale t, and whatever more arrives is independent of them: post-processing. So the pure
// epsilon, sensitivity / t, holds against whoever does not know m of the shares that arrived, which
// is everybody who knows at most T_collude + 1 of at least N - T_drop.
#pragma once

#include <optional>
#include <span>

#include "base/int128.h"
#include "crypto/random.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/polya.h"
#include "sums/protocol/contract.h"

namespace partita::sums {

class NoiseShare {
 public:
  // Takes some milliseconds (Laplace: 100 ms) for tables; then 15 to 60 ns per coordinate.
  explicit NoiseShare(const Contract& contract);

  // Timing is not constant; it depends on the noise. May be called by several threads.
  void Sample(crypto::RandomSource& random, std::span<Int128> out) const;

 private:
  std::optional<privacy::DiscreteGaussian> gaussian_;
  std::optional<privacy::DiscreteLaplaceShare> laplace_;
};

}  // namespace partita::sums
