// The exact privacy profile of the one-dimensional discrete Gaussian, by summing its masses.
#pragma once

#include <cstdint>
#include <vector>

#include "privacy/sampling/grid_variance.h"
#include "privacy/sampling/interval.h"

namespace partita::privacy {

// Up to this sigma the sums are cheap (30 ms, once for a variance).
constexpr double kMaxSummedStddev = 4096;

// And up to this shift they are exact.
constexpr double kMaxSummedShift = 0x1p40;

// Tails of the law, for as many thresholds as are asked for: masses are summed once, up to 24 sigma
// with directed rounding; the rest, below 2^-400, is bounded.
class DiscreteGaussianTails {
 public:
  explicit DiscreteGaussianTails(const GridVariance& variance);

  // P(X >= k).
  PreciseInterval AtLeast(int64_t k) const;
  const GridVariance& variance() const { return variance_; }

 private:
  GridVariance variance_;
  std::vector<PreciseInterval> sums_;  // of exp(-j^2 / (2 s)) over j >= k, by k
  PreciseInterval total_;
};

// delta(epsilon) for a whole shift, 1 to kMaxSummedShift (Canonne, Kamath & Steinke 2020,
// Theorem 7):
//   P(X >= K) - e^eps P(X >= K + shift),  K = floor(eps s / shift - shift / 2) + 1.
PreciseInterval DiscreteGaussianProfile(const DiscreteGaussianTails& tails, double shift,
                                        double epsilon);

}  // namespace partita::privacy
