// Sensitivity of the second moments of rows in a box: T(z) = (z_i z_j for i <= j), |z_i| <= c_i,
// or of a part of these entries. Some z_i may be the constant c_i (a column of ones) in every row.
//
// Let z and w be two rows, u_i = +-w_i, and K = sum c_i^2, S = sum c_i.
//
// L2, replace: |T(z) - T(w)| <= K.
//   With A = zz' - ww', the entries above the diagonal count once:
//     |T(z) - T(w)|^2 = (|A|_F^2 + sum A_ii^2) / 2,  |A|_F^2 = |z|^4 + |w|^4 - 2 <z,w>^2.
//   Put p_i = z_i^2, q_i = w_i^2, both in [0, c_i^2], and leave the negative term out: what
//   remains,
//     ((sum p)^2 + (sum q)^2 + sum (p_i - q_i)^2) / 2,
//   is convex, so largest at a vertex. At a vertex with q_i = 0, raising q_i to c_i^2 adds
//   2 Q c_i^2 + c_i^4 (Q the sum of the other q) to the second square and takes at most c_i^4 from
//   the third term: no loss. The same holds for p, so all p_i = q_i = c_i^2 is best, with K^2.  []
//   Attained where the c_i^2 fall into two halves of equal sum: z = c, w = c with the signs of one
//   half turned (then <z,w> = 0), the constant column included.
//
// L1, replace and add/remove: |T(z) - T(w)|_1 <= (S^2 + K) / 2 = sum_{i<=j} c_i c_j.
//   With a_i = |z_i - w_i|, b_i = |z_i + w_i|: a_i + b_i <= 2 c_i, so a_i b_i <= c_i^2, and
//     z_i z_j - w_i w_j = ((z_i - w_i)(z_j + w_j) + (z_i + w_i)(z_j - w_j)) / 2.
//   Hence |T(z) - T(w)|_1 <= sum a_i b_i + sum_{i<j} (a_i b_j + b_i a_j) / 2
//     = (sum a)(sum b) / 2 + sum a_i b_i / 2 <= S^2 / 2 + K / 2.  []   Attained by w = 0.
//   A constant c_0 has a_0 = 0: then (S^2 + K - c_0^2) / 2.
//
// Rows that lie in a ball of radius C, too (the constant apart): moments_sensitivity.h, and the
// smaller of the two is charged. For second moments alone |A|_F^2 <= 2 C^4 gives sqrt(2) C^2, the
// bound attained by z, w orthogonal with zz' - ww' diagonal.
//
// The integer rows of privacy/sampling/clipping.h lie in the same sets and their products are
// exact, so nothing is added for rounding.
#pragma once

#include "privacy/sampling/sensitivity.h"
#include "stats/blr/design.h"

namespace partita::stats::blr {

// Of the released statistics (statistics.h) in scaled units, when one row is replaced. Rounded up.
privacy::L2Sensitivity StatisticsL2Sensitivity(const Design& design);
privacy::L1Sensitivity StatisticsL1Sensitivity(const Design& design);

// Of the sums of squares of the scaled columns, the target included: every square moves by at most
// 1, so sqrt(d + 1).
privacy::L2Sensitivity SquaresL2Sensitivity(const Design& design);

}  // namespace partita::stats::blr
