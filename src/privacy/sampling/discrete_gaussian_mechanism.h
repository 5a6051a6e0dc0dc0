// What discrete Gaussian noise on the grid protects, alone and as a sum of shares.
//
// d coordinates with independent noise of parameter s = sigma^2 (squared grid units); neighbours
// differ by an integer vector v with |v|_2 <= D. Results bound the WORST such v. D < 1 throws
// kUsage: then nothing ever changes, and the unit is mistaken. CKS: Canonne, Kamath & Steinke,
// 2020.
//
// Upper bound of delta(eps): the smallest of
//   exact (d = 1, sigma <= 4096): CKS Theorem 7, summed with directed rounding. The worst shift is
//     floor(D): the likelihood ratio is monotone, so the best tests are thresholds, and their
//     power grows with the shift;
//   continuous plus gap (any d, s > 1/6):
//     delta_Gaussian(eps; D, sigma) + d/(24 s) + (1 - 1/(6 s))^(-d/2) exp(D^2/(12 s^2)) - 1;
//   zCDP (any d): rho = D^2/(2 s) (CKS section 2), converted (CKS section 2.3) at the best order
//     found:  exp((a-1)(a rho - eps)) / (a-1) * (1 - 1/a)^a,  a > 1.
// Lower bound: the shift floor(D) along one coordinate, exact or with integrals for the sums:
//     Phi(-K/sigma) / (1 + theta) - e^eps Phi(-(K + D - 1)/sigma),
//     theta = 3 exp(-2 pi^2 s), for any whole K >= 1 - D.
//
// Proof of "continuous plus gap". Let g(x) = exp(-|x|^2/(2s)), g_v(x) = g(x - v), Q the unit cube
// around the integer point k, u uniform in the unit cube around 0.
//   (i)   int_Q g = g(k) E exp(-(2<k,u> + |u|^2)/(2s)) >= g(k) exp(-d/(24 s)), by Jensen, because
//         E u = 0 and E|u|^2 = d/12.
//   (ii)  int_Q g_v <= g_v(k) E exp(-<b,u>) = g_v(k) prod sinh(b_i/2)/(b_i/2), b = (k - v)/s, and
//         that is at most g_v(k) exp(|k-v|^2/(24 s^2)).
//   (iii) Where g(k) > e^eps g_v(k), therefore
//           g(k) - e^eps g_v(k) <= int_Q (g - e^eps g_v)_+ + g(k) (1 - e^(-d/(24 s)))
//                                  + e^eps g_v(k) (exp(|k-v|^2/(24 s^2)) - 1),
//         with e^eps g_v(k) <= g(k) and |k-v|^2 <= 2|k|^2 + 2 D^2 in the last term.
//   (iv)  Sum over k and divide by Z = sum g(k) >= (2 pi s)^(d/2) (Poisson summation, all terms
//         positive). The first term becomes at most delta_Gaussian(eps; |v|), which grows with
//         |v|; the second at most d/(24 s); the third E exp((|k|^2 + D^2)/(12 s^2)) - 1. With
//         s' = s/(1 - 1/(6 s)), E exp(|k|^2/(12 s^2)) = (Z_1(s')/Z_1(s))^d <= (s'/s)^(d/2), for
//         Z_1(s)/sqrt(2 pi s) = 1 + 2 sum_j exp(-2 pi^2 s j^2) falls in s.  []
//   The gap is about d/(8 s): 1e-23 for d = 65 and sigma = 2^40 grid units.
//
// Sum of P discrete Gaussians of s/P each: per coordinate its masses are within a factor e^(+-tau)
// of those of the discrete Gaussian of s, tau <= 10 (P-1) exp(-pi^2 s/P) (Kairouz, Liu & Steinke,
// ICML 2021, on sums of discrete Gaussians). Proof. The convolution of parameters s_1 and s_2 is
//   sum_x g_{s1}(x) g_{s2}(z - x) = g_{s1+s2}(z) sum_x exp(-(x - c z)^2/(2 w)),
// w = s_1 s_2/(s_1 + s_2), and by Poisson summation the last sum varies with z between
// sqrt(2 pi w) (1 -+ 2.1 q), q = exp(-2 pi^2 w); so adding share k + 1 costs a factor of at most
// (1 + 2.1 q)/(1 - 2.1 q) <= e^(10 q), where w = (s/P) k/(k+1) >= s/(2P).  [] Hence
//   delta_sum(eps + 2 d tau) <= e^(d tau) delta(eps).
// Shares of sigma <= 4 grid units throw kUsage (methods.md, R-f); above, tau < P 1e-67.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

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

// The whole profile, for as many questions as there are: sums over the grid are made once.
class DiscreteGaussianProfileOf {
 public:
  DiscreteGaussianProfileOf(GridL2Sensitivity sensitivity, const DiscreteGaussianNoise& noise);

  // Contains the largest delta(epsilon) over all shifts within the sensitivity.
  Bounds Delta(Epsilon epsilon) const;
  // Contains the smallest epsilon that holds for all shifts; upper = infinity from kUselessEpsilon
  // on.
  Bounds EpsilonAt(privacy::Delta delta) const;

 private:
  std::function<Bounds(double epsilon)> delta_;
};

// One question.
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
