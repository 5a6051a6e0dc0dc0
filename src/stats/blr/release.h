// Noise for the sums of a regression: how much, shared how, and added to the exact sums.
//
// Three ways to add it, one description (privacy/sampling/distributed_noise.h): of m parties each
// draws the variance s / (m - c), so that the release carries the multiple m / (m - c) of s:
//   trusted aggregator   m = 1, c = 0    multiple 1
//   distributed (DDP)    m = n clients, c = T + 1 known shares: n / (n - T - 1) (Heikkila et al.
//                        2017, Theorem 1)
//   input perturbation   c = n - 1: every row is protected by its own noise alone: n
// s is what replacement of one row needs: analytically calibrated (Balle & Wang 2018, on the grid),
// classically (only for epsilon <= 1, where it is proved), or Laplace for a pure epsilon.
//
// Whom it protects from: those who see the noised sum and know at most c of the shares, if all
// others follow the protocol. Distributed Laplace noise makes its statement for those who know none
// (polya.h), so it takes c = 0 only.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "crypto/random.h"
#include "privacy/sampling/distributed_noise.h"
#include "stats/blr/design.h"

namespace partita::stats::blr {

enum class NoiseKind { kGaussian, kClassicalGaussian, kLaplace };

struct NoiseRequest {
  NoiseKind kind = NoiseKind::kGaussian;
  double epsilon = 1;
  double delta = 1e-6;  // not used by Laplace noise
  privacy::NoiseSharing sharing = {1, 0};
};

struct NoiseDesign {
  NoiseRequest request;
  double sensitivity = 0;            // in scaled units, L2 or L1 (Laplace), one row replaced
  size_t dimension = 0;              // entries with noise
  privacy::GridVariance required;    // s, in squared grid units; Gaussian noise
  privacy::GridVariance released;    // s m / (m - c)
  privacy::GridScale laplace_scale;  // grid units; Laplace noise
  double variance = 0;               // of each entry that is released, in squared scaled units
  double variance_multiple = 1;      // m / (m - c)
};

// Of the statistics, and of the sums of squares of the columns. Throws kUsage for a budget out of
// range, for more known shares than parties less one, and for classical noise with epsilon > 1.
NoiseDesign DesignStatisticsNoise(const Design& design, const NoiseRequest& request);
NoiseDesign DesignSquaresNoise(const Design& design, const NoiseRequest& request);

// kWhole: the noise of all parties at once, one discrete Gaussian of the summed variance. (Real
// shares add up to it within ShareGap of discrete_gaussian_mechanism.h, far below 1e-60 here.)
// kShare: what ONE party adds.
enum class NoisePart { kWhole, kShare };

// Construction takes 3 ms (shares of Laplace noise: 100 ms), a draw some ten nanoseconds per entry.
class NoiseSampler {
 public:
  explicit NoiseSampler(const NoiseDesign& noise, NoisePart part = NoisePart::kWhole);
  ~NoiseSampler();
  NoiseSampler(NoiseSampler&&) noexcept;
  NoiseSampler& operator=(NoiseSampler&&) noexcept;

  // Throws kInternal for another number of entries than the design's.
  void AddTo(std::span<Int128> entries, crypto::RandomSource& source) const;

 private:
  struct Law;
  std::unique_ptr<const Law> law_;
};

}  // namespace partita::stats::blr
