// Joint L2 sensitivity of the first and second moments of rows z with |z|_2 <= C:
//   T(z) = (z_1 .. z_d, z_i z_j for i <= j), optionally with a leading 1 that counts rows.
// The statistic is sum_rows T(z): the upper triangle once, the diagonal unscaled.
//
// Add/remove. The squares above the diagonal are half of |z z'|_F^2 = |z|^4 less the diagonal, so
//     |T(z)|^2 = |z|^2 + (|z|^4 + sum z_i^4) / 2      (+ 1 for the count).
//   It grows with |z|, and sum z_i^4 <= |z|^4 with equality at z = C e_i:
//     Delta^2 = C^2 + C^4                             (+ 1 for the count).
//
// Replace. With a = |z|, b = |w|, c = <z, w> and A = z z' - w w',
//     |T(z) - T(w)|^2 = a^2 + b^2 - 2c + (|A|_F^2 + sum A_ii^2) / 2
//                    <= a^2 + b^2 - 2c + |A|_F^2
//                     = a^2 + b^2 - 2c + a^4 + b^4 - 2c^2,
//   with equality if A is diagonal. For fixed c this grows in a and b, so a = b = C; over
//   |c| <= C^2 the maximum is then at c = -1/2 if C^2 >= 1/2, else at c = -C^2:
//     Delta^2 = 2 C^4 + 2 C^2 + 1/2   (C^2 >= 1/2),       4 C^2   (C^2 <= 1/2).
//   Attained: for C^2 <= 1/2 by w = -z; else, if d >= 2, by z = (x, y), w = -(y, x) with
//   x^2 + y^2 = C^2 and x y = 1/4, for then A is diagonal and c = -2xy.
//   For d = 1 let t = z - w and s = z + w; |s| + |t| <= 2C, and t^2 (1 + s^2) is largest at s = 0
//   or at the stationary point s = (C + sqrt(C^2 - 2)) / 2, t = 2C - s:
//     Delta^2 = max(4 C^2, t^2 (1 + s^2))   (C^2 >= 2),   4 C^2   (else).
//   The count does not change under replace and adds nothing.
//
// These are suprema over real rows. The integer rows of clipping.h lie inside the same ball and
// their cross products are exact, so they hold on the grid without a rounding term. Both parts are
// on ONE grid: z is lifted to 2f fraction bits by a public shift before noise is added.
#pragma once

#include <cstddef>

#include "privacy/sampling/sensitivity.h"

namespace partita::privacy {

struct MomentsShape {
  size_t dimension = 0;         // d >= 1
  bool releases_count = false;  // the number of rows is released with noise in the same vector
};

// Rounded up. row_bound is C > 0.
L2Sensitivity MomentsSensitivity(const MomentsShape& shape, double row_bound, Adjacency adjacency);

}  // namespace partita::privacy
