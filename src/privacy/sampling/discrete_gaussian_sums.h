// The exact privacy profile of the one-dimensional discrete Gaussian, by summing its masses.
#pragma once

#include "privacy/sampling/grid_variance.h"
#include "privacy/sampling/interval.h"

namespace partita::privacy {

// Up to this sigma the sums are cheap (20 ms).
constexpr double kMaxSummedStddev = 4096;

// And up to this shift they are exact.
constexpr double kMaxSummedShift = 0x1p40;

// delta(epsilon) for a whole shift, 1 to kMaxSummedShift (Canonne, Kamath & Steinke 2020,
// Theorem 7):
//   P(X >= K) - e^eps P(X >= K + shift),  K = floor(eps s / shift - shift / 2) + 1.
// Masses are summed up to 24 sigma with directed rounding; the rest, below 2^-400, is bounded.
PreciseInterval DiscreteGaussianProfile(const GridVariance& variance, double shift, double epsilon);

}  // namespace partita::privacy
