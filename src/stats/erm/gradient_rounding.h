// How far the gradient of an objective, computed in doubles, is from the exact one: what a proof
// about an exact minimiser needs to say something about the vector that a program found.
#pragma once

#include <cstddef>

#include "stats/erm/loss.h"

namespace partita::stats::erm {

// L2, of ObjectiveGradient (minimize.h) without noise and without a free intercept, at a w of norm
// at most `norm`, for up to `rows` rows of norm at most 1 (as computed) and labels -1 and 1.
//
// With u = 2^-53, c = MaxCurvature and
//   E = 2 u (N + c d |w| + 2 lambda |w| + 4 c + 16)
// the computed gradient is within E of the exact one, if exp is right to two units in the last
// place (glibc: one) and N, d <= 2^40. Proof, with the bound n u / (1 - n u) of sums of n products
// in any order and with fused operations (Higham, Accuracy and Stability of Numerical Algorithms,
// 2002, section 3.1):
//   margins     d products: off by at most d u |x| |w|, their slope by c times that;
//   slopes      at the computed margin: 8 u of values of at most 1 for the logistic loss; for the
//               Huber loss 1 + h is off by 2 u, times c, and three more roundings;
//   the sum     N u sum_i |slope_i| |x_i| <= N^2 u, and N u more by the mean's division;
//   lambda w    two roundings, of the product and of the sum: 2 u lambda |w| + u.
// Divided by N: u (N + c d |w| + 2 lambda |w| + 4 c + 12). The factor 2 covers 1 / (1 - n u), rows
// whose computed norm is 1 and whose exact one is not, and numbers below 2^-1022.  []
double GradientRounding(const Loss& loss, double lambda, size_t rows, size_t dimension,
                        double norm);

}  // namespace partita::stats::erm
