// The sandwich on shares, in the scaling in which the information is inverted.
//
// Input     M divided like J, at most 2^20 J in every direction; d and X of scoring_step.h.
// Method    N = diag(d) M diag(d), which is at most 2^20 K, and X N X, so that J^-1 M J^-1 is
//           diag(d) X N X diag(d). Every bound follows from N <= 2^20 K and K_ii <= 2^6:
//           |N_ij| <= 2^26, (X N X)_ii <= 2^20 X_ii, |X N|_ij <= 2^23 X_ii^(1/2).
// Error     M: 2^-56, divided by J; X N: 2^-42 absolute.
// Cost      Two products of p^2 numbers and two of matrices, each with its cut.
// Revealed  Nothing.
#pragma once

#include "mpc/engine.h"

namespace partita::mpc {

inline constexpr int kMeatBits = 56, kSandwichBits = 34;
inline constexpr double kMostMeat = 0x1p20, kMostSandwich = 0x1p40;

// At most kMostSandwich.
struct Sandwich {
  Shared product;   // X N X, p x p, not cut yet: 82 fraction bits
  Shared diagonal;  // p x 1, at kSandwichBits
};
// scale: d, p x 1; inverse: X, p x p, at most 2^20.
Sandwich SandwichOf(Engine& engine, const Shared& meat, const Shared& scale, const Shared& inverse);

}  // namespace partita::mpc
