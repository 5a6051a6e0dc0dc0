// What discrete Gaussian noise on the grid protects, alone and as a sum of shares.
//
// One discrete Gaussian per coordinate, d coordinates, shift v integer with |v|_2 <= D grid units.
// Three upper bounds of delta(eps); the smallest is used.
//   Exact (d = 1): Canonne, Kamath & Steinke 2020, Theorem 7, summed with directed rounding.
//   Continuous plus gap (any d):
//     delta(eps) <= delta_Gaussian(eps; D, sigma) + d/(24 s) + [(1 - 1/(6 s))^(-d/2) exp(D^2/(12 s^2)) - 1],
//     s = sigma^2 in squared grid units.
//   zCDP (any d, any sigma): rho = D^2 / (2 s) (their Theorem 4 and 14), converted by their
//     Corollary 13 at the best order found.
//
// Proof of the second. Let g(x) = exp(-|x|^2/(2s)), g_v(x) = g(x - v), Q the unit cube around k.
//   (i) By Jensen, the integral of g over Q is at least g(k) e^(-d/(24 s)), for the mean of |u|^2 over the cube is d/12.
//   (ii) It is at most g(k) prod sinh(a_i/2)/(a_i/2) <= g(k) exp(|k|^2/(24 s^2)), a = k/s.
//   (iii) On {g > e^eps g_v}: g(k) - e^eps g_v(k) <= int_Q (g - e^eps g_v)_+ + g(k)(1 - e^(-d/(24 s)))
//         + e^eps g_v(k)(exp(|k - v|^2/(24 s^2)) - 1), and e^eps g_v(k) <= g(k), |k - v|^2 <= 2|k|^2 + 2 D^2.
//   (iv) Sum over k and divide by Z = sum g(k) >= (2 pi s)^(d/2) (Poisson summation: all terms are positive). The first
//         term becomes at most delta_Gaussian, the second d/(24 s), the third E[exp((|k|^2 + D^2)/(12 s^2))] - 1, and
//         E exp(|k|^2/(12 s^2)) = (Z_1(s')/Z_1(s))^d with s' = s/(1 - 1/(6 s)), at most (s'/s)^(d/2) because
//         Z_1(s)/sqrt(2 pi s) = 1 + 2 sum_j exp(-2 pi^2 s j^2) falls in s.  []
//   The gap is about d/(8 s): 1e-23 for d = 65 and sigma = 2^40 grid units.
//
// Sum of P discrete Gaussians, each of variance s/P >= 16 grid units squared: pointwise within a factor exp(tau) of the
// discrete Gaussian of s, per coordinate, tau = 10 sum_{k=1}^{P-1} exp(-2 pi^2 (s/P) k/(k+1)) (Kairouz, Liu & Steinke, ICML 2021,
// Proposition 13), so (eps, delta) of the one is (eps + 2 d tau, e^(d tau) delta) of the other. Shares of sigma <= 4 throw kUsage (methods.md, R-f).
#pragma once

#include <cstddef>
#include <cstdint>

#include "privacy/sampling/calibrate.h"
#include "privacy/sampling/grid_variance.h"
#include "privacy/sampling/sensitivity.h"

namespace partita::privacy {

// Independent shares of equal variance that are added up; 1 is one discrete Gaussian.
struct DiscreteGaussianNoise {
  GridVariance share_variance;
  uint32_t shares = 1;
  size_t dimension = 1;  // coordinates, noise independent in each
};

// rho of zero-concentrated DP of ONE discrete Gaussian share: D^2 / (2 s), rounded up.
double DiscreteGaussianRho(GridL2Sensitivity sensitivity, const GridVariance& variance);

// An upper bound of delta at epsilon, for every shift within the sensitivity.
double DiscreteGaussianDelta(GridL2Sensitivity sensitivity, const DiscreteGaussianNoise& noise,
                             Epsilon epsilon);
// An upper bound of epsilon at delta.
double DiscreteGaussianEpsilon(GridL2Sensitivity sensitivity, const DiscreteGaussianNoise& noise,
                               Delta delta);
// The smallest variance (up to 1e-9) of a single discrete Gaussian whose bound meets the budget.
GridVariance CalibrateDiscreteGaussian(GridL2Sensitivity sensitivity, size_t dimension,
                                       Epsilon epsilon, Delta delta);

// tau above, an upper bound. Throws kUsage if shares > 1 and their sigma is not above 4 grid units.
double ShareGap(const GridVariance& share_variance, uint32_t shares);

}  // namespace partita::privacy
