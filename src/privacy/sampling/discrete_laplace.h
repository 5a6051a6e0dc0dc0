// Exact samples of the discrete Laplace and geometric laws, by integers only.
//
//   geometric          P(k) = (1 - a) a^k, k >= 0,             a = exp(-1 / t)
//   discrete Laplace   P(k) = (1 - a) / (1 + a) a^|k|, k integer
//
// t = numerator / denominator in grid units, exact. Canonne, Kamath & Steinke (NeurIPS 2020),
// Algorithm 2: the remainder modulo t by rejection with Bernoulli(exp(-u / numerator)), the
// multiple of t by counting Bernoulli(exp(-1)), both by von Neumann's alternating series (their
// Algorithm 1).
//
// Timing  NOT constant: the number of trials grows with the value. Draw noise ahead of time (R65).
#pragma once

#include <cstdint>
#include <span>

#include "base/int128.h"
#include "crypto/random.h"

namespace partita::privacy {

// numerator / denominator grid units.
struct GridScale {
  UInt128 numerator = 0;
  UInt128 denominator = 1;

  bool operator==(const GridScale&) const = default;
};

// Terms are below 2^112, so that no sample leaves 127 bits.
constexpr int kMaxScaleBits = 112;

// Throws kUsage unless 0 < terms < 2^112.
void CheckScale(const GridScale& scale);

// The exact value of a double. Throws kUsage if it is not positive and finite, or the terms do not
// fit (below 2^-60 or above 2^111).
GridScale ScaleOf(double grid_units);

class DiscreteLaplace {
 public:
  // Throws kUsage if the scale is not accepted.
  explicit DiscreteLaplace(const GridScale& scale);

  void Sample(crypto::RandomSource& source, std::span<Int128> out) const;
  Int128 Sample(crypto::RandomSource& source) const;

  const GridScale& scale() const { return scale_; }

 private:
  GridScale scale_;
};

// One sample of the geometric law with a = exp(-1 / scale): the integer part of an exponential
// variable of mean t.
Int128 SampleGeometric(crypto::RandomSource& source, const GridScale& scale);

}  // namespace partita::privacy
