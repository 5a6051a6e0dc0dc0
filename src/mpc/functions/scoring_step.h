// A step of Newton's method or Fisher scoring on shares, and the variances of the estimates.
//
// Input     J and u: information and score divided by 2^unit_bits, the entries of J at most 1.
// Method    d = diag(J)^(-1/2), K = diag(d) J diag(d) with ones on its diagonal, K^-1 = X by
//           InvertDefinite (definite.h); the step is d X (d u), v = d^2 diag(X) times the unit and
//           the dispersion, halved: half the squared standard error. Of robust errors the diagonal
//           of the sandwich (sandwich.h) stands for the one of X, without a dispersion.
// Failures  Counted on shares, never opened one by one: a column whose J is below 2^-28 or whose
//           variance inflation is above 10^6; |d u| above 32; a diagonal of the sandwich above 2^20; v above 2^10, that is a standard error
//           above 45 of a column in [-1, 1]. What fails is 0 from there on.
// Error     d: 2^-35 relative; X: definite.h; the step 2^-38 and v 2^-40 absolute beside those.
// Cost      InverseRoot, InvertDefinite, two or three comparisons of p values with their ways back
//           to the ring, four products, one more with a dispersion, and of robust errors
//           sandwich.h with one comparison more.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
// Revealed  Nothing.
#pragma once

#include "mpc/engine.h"

namespace partita::mpc {

inline constexpr double kMostVariance = 0x1p10;
// Of J, and of pivots of K: a variance inflation of 10^6.
inline constexpr double kLeastInformation = 0x1p-28, kSmallestPivot = 0x1p-20;
inline constexpr int kStepBits = 40;

struct ScoringSums {
  Shared information;      // J, p x p
  Shared score;            // u, p x 1
  Shared meat = {};        // p x p, divided like J (sandwich.h); only of robust errors
  Shared dispersion = {};  // 1 x 1; only where there is one, of errors that are not robust
  int unit_bits = 0;
};

struct SolvedStep {
  Shared step;       // p x 1, at kStepBits
  Shared variances;  // p x 1: SE^2 / 2
  Shared collinear;  // p x 1, 0 or 1
  Shared failures;   // 1 x 1, a number
};

SolvedStep SolveStep(Engine& engine, const ScoringSums& sums);

// Whether |value| <= limit (p x 1 each; of equal fraction bits): 0 or 1 by entry.
Shared Within(Engine& engine, const Shared& value, const Shared& limit);
// value where |value| <= limit, else 0; what is not is added to `failures`.
Shared KeepWithin(Engine& engine, const Shared& value, double limit, Shared& failures);
// The number of zeros among 0/1 entries.
Shared CountZeros(Engine& engine, const Shared& bits);

}  // namespace partita::mpc
