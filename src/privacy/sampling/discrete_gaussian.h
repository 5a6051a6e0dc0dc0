// Exact samples of the discrete Gaussian: P(k) proportional to exp(-k^2 / (2 sigma^2)), k integer.
// (Canonne, Kamath & Steinke, "The discrete Gaussian for differential privacy", 2020.)
//
// Law         Exactly that law, for every accepted scale; no step rounds. Proof: gaussian_table.h.
// Method      Rejection from bins of equal width on the half line: the bin by an alias table of
//             integer weights with sum 2^64, its low bits uniform, acceptance by a uniform number
//             that is extended until it is certain on which side of the ratio it lies. Small
//             scales need no algorithm of their own: their bins are single integers.
// Cost        Construction up to 3 ms (1200 directed exponentials). Per candidate 16 random bytes
//             for sigma < 2^53, 24 above; about 1.03 candidates per sample; 5 to 20 ns.
// Timing      NOT constant: a candidate near the upper end of its bin (about 2 %) takes an
//             exponential, and the bin decides which table line is read. Draw noise ahead of time,
//             never while somebody waits for the answer (security.md, R65; Jin et al. 2022). How
//             many candidates were rejected is independent of the accepted values.
// Randomness  The tape is read in this order, so that a reference can follow it: per round one
//             block of min(512, samples still missing) candidates, then, candidate by candidate,
//             the further words that single candidates need.
#pragma once

#include <memory>
#include <span>

#include "base/int128.h"
#include "crypto/random.h"
#include "privacy/sampling/grid_variance.h"

namespace partita::privacy {

struct GaussianTable;

class DiscreteGaussian {
 public:
  // Throws kUsage if the variance is not accepted (grid_variance.h).
  explicit DiscreteGaussian(const GridVariance& variance);
  // From a table of one's own (gaussian_table.h).
  explicit DiscreteGaussian(GaussianTable table);
  ~DiscreteGaussian();
  DiscreteGaussian(DiscreteGaussian&&) noexcept;
  DiscreteGaussian& operator=(DiscreteGaussian&&) noexcept;

  // Fills `out` with independent samples. Thread-safe for distinct sources.
  void Sample(crypto::RandomSource& source, std::span<Int128> out) const;
  Int128 Sample(crypto::RandomSource& source) const;

  const GridVariance& variance() const;
  const GaussianTable& table() const { return *table_; }

 private:
  std::unique_ptr<const GaussianTable> table_;
};

}  // namespace partita::privacy
