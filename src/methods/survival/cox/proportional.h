// Whether hazards are proportional, on shares: score tests of coefficients that change linearly with
// time, b + c g, at the estimates, as R's cox.zph with terms = FALSE and a public g.
//
// With U and I the score and the information, U_g their sums over events with each event times its g,
// I_g and I_gg with g and g^2 (fitter.h says how they come from sums at risk), the information of c
// beside b is S = I_gg - I_g I^-1 I_g, its score u = U_g - I_g I^-1 U, and
//
//   the test of one column   u_j^2 / S_jj             1 degree of freedom
//   of all together          u' S^-1 u                p
//
// Input       Sums divided by 2^unit_bits where this is said; I^-1 as X between d and d, I^-1 U as the
//             step (scoring_step.h), all of a fit that holds; where `holds` is 0 everything is 0.
// Error       S, u: p 2^-40; tests: 2^-30 of themselves and 2^-20.
// Failures    What SolveStep counts for S; then every test is 0 and `valid` too.
// Cost        Six products, three of them with cuts; Reciprocal of p numbers beside SolveStep; three
//             products, a comparison with its way back to the ring.
// Revealed    Nothing.
// Timing      constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
// Source      P. Grambsch, T. Therneau, "Proportional hazards tests and diagnostics based on weighted
//             residuals", Biometrika 1994; as a score test since version 3 of R's survival.
#pragma once

#include "mpc/functions/scoring_step.h"

namespace partita::methods::survival {

inline constexpr int kTestBits = 40;

struct TimedSums {
  mpc::Shared score;          // U_g, p x 1
  mpc::Shared first, second;  // I_g and I_gg divided by 2^unit_bits, p x p, at most 1
  int unit_bits = 1;
};

struct ProportionalTests {
  mpc::Shared tests;  // p + 1 x 1: of each column, of all; at kTestBits
  mpc::Shared valid;  // 1 x 1, 0 or 1
};
// solved: at the estimates. holds: 1 x 1, 0 or 1.
ProportionalTests TestProportional(mpc::Engine& engine, const TimedSums& sums,
                                   const mpc::SolvedStep& solved, const mpc::Shared& holds);
// Of a test of p columns of which at most 2^unit_bits rows have the event.
double MostOfProportional(size_t columns, int unit_bits);

}  // namespace partita::methods::survival
