// From privacy to noise and back, for single mechanisms. Composition is done in privacy/accounting.
//
// Direction  Deltas and epsilons come as intervals [lower, upper] that contain the truth (MPFR with
//            directed rounding); what calibration returns satisfies upper <= budget, so it is never
//            below the noise that the budget needs, and at most 1e-12 (relative) above it.
// Underflow  Nothing rounds to 0: an upper bound that is positive in truth is at least the smallest
//            positive double.
// Errors     kUsage for parameters out of range, with what to do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "privacy/sampling/discrete_laplace.h"
#include "privacy/sampling/grid_variance.h"
#include "privacy/sampling/sensitivity.h"

namespace partita::privacy {

// From here on nothing is hidden: e^(-2^20) is what a guess is worth. Larger epsilons are not
// looked for, but bounded by infinity.
inline constexpr double kUselessEpsilon = 0x1p20;

// Contains the true value.
struct Bounds {
  double lower = 0;
  double upper = 0;
};

// --- Continuous Gaussian, any dimension, L2 sensitivity D (Balle & Wang, ICML 2018, Theorem 8) ---
//   delta(eps) = Phi(D/(2s) - eps s/D) - e^eps Phi(-D/(2s) - eps s/D),   s the noise_stddev.

Bounds GaussianDelta(L2Sensitivity sensitivity, double noise_stddev, Epsilon epsilon);
// The smallest epsilon; 0 if already delta(0) <= delta; upper = infinity from kUselessEpsilon on.
Bounds GaussianEpsilon(L2Sensitivity sensitivity, double noise_stddev, Delta delta);
// The smallest noise_stddev, rounded up.
double AnalyticGaussianStddev(L2Sensitivity sensitivity, Epsilon epsilon, Delta delta);
// sqrt(2 ln(1.25/delta)) D / eps, for the reproduction of papers. Proved for 0 < eps <= 1 only;
// throws kUsage above, for it then claims more than is true.
double ClassicalGaussianStddev(L2Sensitivity sensitivity, Epsilon epsilon, Delta delta);

// --- Laplace: pure epsilon = D1 / b, and its profile in one dimension ---------------------------

// The scale b, rounded up. Throws kUsage for epsilon 0.
double LaplaceScale(L1Sensitivity sensitivity, Epsilon epsilon);

// --- Discrete Laplace on the grid: pure epsilon = D1 / t ----------------------------------------

// The scale t, rounded up to a rational of at most 112 bits.
GridScale DiscreteLaplaceScale(GridL1Sensitivity sensitivity, Epsilon epsilon);
Bounds DiscreteLaplaceEpsilon(GridL1Sensitivity sensitivity, const GridScale& scale);

}  // namespace partita::privacy
