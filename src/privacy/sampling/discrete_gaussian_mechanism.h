// What discrete Gaussian noise on the grid protects, alone and as a sum of shares.
//
// d coordinates with independent noise of parameter s = sigma^2 (squared grid units); neighbours
// differ by an integer vector v with |v|_2 <= D, where D >= 1 (kUsage below: then nothing ever
// changes, and the unit is mistaken). Results bound the WORST such v. The upper bound of delta(eps)
// is the smallest of
//   exact (d = 1, sigma <= 4096): Canonne, Kamath & Steinke 2020, Theorem 7, summed with directed
//   rounding. The worst shift is
//     floor(D): the law has a monotone likelihood ratio, so the best test is a threshold, whose
//     power grows with v;
//   continuous plus gap (any d):
//     delta_Gaussian(eps; D, sigma) + d/(24 s) + [(1 - 1/(6 s))^(-d/2) exp(D^2/(12 s^2)) - 1],  s >
//     1/6;
//   zCDP (any d): rho = D^2/(2 s) (their Theorem 14), converted at the best order found:
//     exp((a-1)(a rho - eps)) / (a-1) * (1 - 1/a)^a,  a > 1  (their Corollary 13).
// The lower bound is the shift floor(D) along one coordinate: exact, or with integrals in place of
// the sums,
//     Phi(-K/sigma) / (1 + theta) - e^eps Phi(-(K + D - 1)/sigma),  theta = 3 exp(-2 pi^2 s),  any
//     whole K >= 1 - D.
//
// Proof of "continuous plus gap". Let g(x) = exp(-|x|^2/(2s)), g_v(x) = g(x - v), Q the unit cube
// around k, u uniform in the
//   cube around 0.
//   (i) int_Q g = g(k) E exp(-(2<k,u> + |u|^2)/(2s)) >= g(k) exp(-d/(24 s)) by Jensen, as E u = 0
//   and E|u|^2 = d/12. (ii) int_Q g_v <= g_v(k) E exp(-<k-v,u>/s) = g_v(k) prod sinh(b_i/2)/(b_i/2)
//   <= g_v(k) exp(|k-v|^2/(24 s^2)), b = (k-v)/s. (iii) Where g(k) > e^eps g_v(k):  g(k) - e^eps
//   g_v(k) <= int_Q (g - e^eps g_v)_+ + g(k)(1 - e^(-d/(24 s)))
//         + e^eps g_v(k)(exp(|k-v|^2/(24 s^2)) - 1), with e^eps g_v(k) <= g(k) and |k-v|^2 <=
//         2|k|^2 + 2 D^2.
//   (iv) Sum over k and divide by Z = sum g(k) >= (2 pi s)^(d/2) (Poisson summation: all terms are
//   positive). The first
//         term becomes at most delta_Gaussian(eps; |v|) <= delta_Gaussian(eps; D), the second at
//         most d/(24 s), the third E exp((|k|^2 + D^2)/(12 s^2)) - 1; and E exp(|k|^2/(12 s^2)) =
//         (Z_1(s')/Z_1(s))^d for s' = s/(1 - 1/(6 s)), at most (s'/s)^(d/2), because Z_1(s)/sqrt(2
//         pi s) = 1 + 2 sum_j exp(-2 pi^2 s j^2) falls in s.  []
//   The gap is about d/(8 s): 1e-23 for d = 65 and sigma = 2^40 grid units.
//
// Sum of P discrete Gaussians of s/P each: per coordinate pointwise within a factor e^(+-tau) of
// the discrete Gaussian of s, tau <= 10 (P-1) exp(-pi^2 s/P) (Kairouz, Liu & Steinke, ICML 2021,
// Proposition 13, each k/(k+1) >= 1/2). Hence
//   delta_sum(eps + 2 d tau) <= e^(d tau) delta(eps).
// Shares of sigma <= 4 grid units throw kUsage (methods.md, R-f); above, tau < 1e-66 P.
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

// rho of zero-concentrated DP of one discrete Gaussian: D^2/(2 s), rounded up.
double DiscreteGaussianRho(GridL2Sensitivity sensitivity, const GridVariance& variance);

// Contains the largest delta(epsilon) over all shifts within the sensitivity.
Bounds DiscreteGaussianDelta(GridL2Sensitivity sensitivity, const DiscreteGaussianNoise& noise,
                             Epsilon epsilon);
// Contains the smallest epsilon that holds for all shifts.
Bounds DiscreteGaussianEpsilon(GridL2Sensitivity sensitivity, const DiscreteGaussianNoise& noise,
                               Delta delta);
// The smallest variance (its root up to 1e-9, relative) of one discrete Gaussian whose upper bound
// meets the budget.
GridVariance CalibrateDiscreteGaussian(GridL2Sensitivity sensitivity, size_t dimension,
                                       Epsilon epsilon, Delta delta);

// Upper bound of tau; 0 for one share. Throws kUsage if shares > 1 and their sigma is not above 4
// grid units.
double ShareGap(const GridVariance& share_variance, uint32_t shares);

}  // namespace partita::privacy
