// A step of Fisher scoring on shares, and the variances of the estimates.
//
// Input     J and u of inputs.h: information and score divided by 2^(row_bits + weight_bits).
// Method    d = diag(J)^(-1/2), K = diag(d) J diag(d) with ones on its diagonal, K^-1 = X by
//           InvertDefinite (definite.h); the step is d X (d u), v = d^2 diag(X) times the unit and
//           the dispersion, halved: half the squared standard error. Of robust errors the diagonal
//           of the sandwich (sandwich.h) stands for the one of X, without a dispersion.
// Failures  Counted on shares, never opened one by one: a column whose J is below 2^-28 or whose
//           variance inflation is above 10^6; |d u| above 32; a diagonal of the sandwich above 2^20; v above 2^10, that is a standard error
//           above 45 of a column in [-1, 1]. What fails is 0 from there on.
// Error     d: 2^-35 relative; X: definite.h; the step 2^-38 and v 2^-40 absolute beside those.
// Cost      InverseRoot, InvertDefinite, two or three comparisons of p values with their ways back
//           to the ring, Divide where there is a dispersion, six products, and of robust errors
//           sandwich.h with one comparison more.
// Revealed  Nothing.
#pragma once

#include "methods/glm/inputs.h"

namespace partita::methods::glm {

inline constexpr double kMostVariance = 0x1p10;
// Of J, and of pivots of K: a variance inflation of 10^6.
inline constexpr double kLeastInformation = 0x1p-28, kSmallestPivot = 0x1p-20;

struct SolvedStep {
  mpc::Shared step;       // p x 1, at kStepBits
  mpc::Shared variances;  // p x 1: SE^2 / 2
  // p x p: X, of robust errors X N X (sandwich.h); the covariance of the estimates but for d on both
  // sides and a factor.
  mpc::Shared covariance;
  mpc::Shared collinear;  // p x 1, 0 or 1
  mpc::Shared failures;   // 1 x 1, a number
};
inline constexpr int kStepBits = 40;

// rows: n, 1 x 1 without fraction bits; only used with a dispersion.
SolvedStep SolveStep(mpc::Engine& engine, const Task& task, const SharedSums& sums,
                     const mpc::Shared& rows);

// Whether |value| <= limit (p x 1 each; of equal fraction bits): 0 or 1 by entry.
mpc::Shared Within(mpc::Engine& engine, const mpc::Shared& value, const mpc::Shared& limit);
// value where |value| <= limit, else 0; what is not is added to `failures`.
mpc::Shared KeepWithin(mpc::Engine& engine, const mpc::Shared& value, double limit,
                       mpc::Shared& failures);
// The number of zeros among 0/1 entries.
mpc::Shared CountZeros(mpc::Engine& engine, const mpc::Shared& bits);

}  // namespace partita::methods::glm
