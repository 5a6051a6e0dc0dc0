// What restricted likelihood adds to score and information of the deviations psi, on shares (stats/mixed/random_slope.h):
// with K = diag(d) J diag(d), J of the coefficients, and K_k, K_kl scaled alike, M_k = K^-1 K_k,
//
//   score - tr M_k / 2     information + (tr K^-1 K_kl + s tr M_k M_l) / 2     s = -1 observed, 1 expected
//
// Input     J over 2^unit_bits, and A_k, C_kl or A_kl (packed triangles, a column each) divided likewise.
// Domain    |K_k| at most 2^5, |K_kl| 2^12: for psi within the limits of random_slope.h derivatives of V are so bounded by V.
// Error     of tr M_k p 2^-26, of the traces that are added to the information p^2 2^-26.
// Failures  Columns of K whose inverse is not true (information_inverse.h), counted.
// Cost      ScaleInformation, InvertInformation and its correction, two products for the scaling, two for the traces and two
//           cuts, the check beside.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
// Revealed  Nothing.
#pragma once

#include "mpc/engine.h"

namespace partita::methods::mixed {

// Bounds of entries by row, over 2^unit_bits, of J's at most 2^-6.
inline constexpr double kMostFirst = 1, kMostSecond = 64;

struct RemlSums {
  mpc::Shared fixed;          // J, p x p
  mpc::Shared first, second;  // p(p + 1)/2 x 4, x 10
};
struct RemlTerms {
  mpc::Shared score;        // 4 x 1, at score_bits
  mpc::Shared information;  // 4 x 4, at information_bits
  mpc::Shared failures;     // 1 x 1
  mpc::Shared correlation;  // K
  mpc::Shared diagonal;     // of J, p x 1
};
RemlTerms RemlTermsOf(mpc::Engine& engine, const RemlSums& sums, bool observed, int unit_bits,
                      int score_bits, int information_bits);

// log |J|, 1 x 1 at 40 fraction bits. Cost: inverses of all leading blocks of K, side by side, and 2 p logarithms.
mpc::Shared LogDeterminant(mpc::Engine& engine, const RemlTerms& terms);

}  // namespace partita::methods::mixed
