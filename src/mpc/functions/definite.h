// Factors, inverses, determinants and linear systems of symmetric positive definite shared
// matrices, several at once.
//
// Domain    p x p, p <= 60 is what is tested, symmetric (not checked), |a_ij| <= bound(a). A pivot
//           is the part of a variable's variance that the variables before it do not explain; one
//           below smallest_pivot, public, between 2^-21 and 1 times bound(a), makes its variable
//           collinear. For a correlation matrix and smallest_pivot = 2^-20 that is a variance
//           inflation of 10^6. Below: the variable is left out as if it were not there (zeros in
//           its row and column of the inverse, in its column of the factor), and `collinear` says
//           so. Whether anybody learns that is the caller's decision.
//           An inverse also reports a variable whose diagonal entry exceeds 1 / smallest_pivot:
//           collinear with others whatever their order. So its bound holds.
// Error     With A scaled to 1 at most, entries at 58 bits and multipliers of relative error 2^-43
//           and absolute error 2^-43: a backward error of p 2^-42. Inverses are checked: where
//           nothing is reported, |X - A^-1| <= 2^-17 |A^-1| + p 2^-f in the spectral norm (f:
//           fraction bits of X), because then every |(A X - I)_ij| <= 2^-17 / p before the last
//           cut, as long as A X does not wrap around the ring of 128 bits, which takes entries of X
//           beyond 2^24 / bound(a). A row for which that fails is reported like a collinear
//           variable. Measured for p = 20: 3e-11 at condition number 1e4, 2e-9 at 1e6. Failure
//           probability 0.
// Method    Pivot by pivot, in the given order: is it below 16 thresholds per octave, at once (no
//           search for its leading bit); so a first guess g of its reciprocal within 2.4 %,
//           e = 1 - d g, and the column times g (1 + e) (1 + e^2) (1 + e^4) is the column divided
//           by the pivot, relative error e^8 < 2^-43; then the rank-one update. The factor is the
//           right-looking LDL^T; the inverse is the sweep operator (Goodnight, The American
//           Statistician 1979), which needs the same rounds and no substitution.
// Rounds    D = 1 (`dealer`) or 2 (`replicated`), for any number of matrices of up to p rows at
//           most FactorDefinite 2 p (D + 8) - 2, for p = 20 358 and, with fewer in the longest
//           chain, 379; InvertDefinite 2 p (D + 8) + 5 D + 8 + ceil(log2 log2 (4 p)), the latter
//           for its check: 376 and 399. On `shamir`, where a cut takes three or four rounds, 576
//           and 604 for three parties, 756 and 790 for five.
// Bytes     per pivot, T = 16 log2(bound / smallest_pivot) + 1 thresholds: T comparisons of 60 bits
//           and T bits made ring elements, 4 p elements and (p - j)^2 (inverse: p^2) for the
//           update, each with its cut. For p = 20 the busiest process sends 0.43 (`dealer`) or 0.41
//           MB (`replicated`) for a factor, 0.83 or 0.64 MB for an inverse.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

struct DefiniteMatrix {
  Shared matrix;
  double smallest_pivot = 0x1p-20;
};

struct DefiniteFactor {
  Shared lower;      // p x p, ones on the diagonal, 44 fraction bits
  Shared pivots;     // p x 1, in the matrix's units
  Shared collinear;  // p x 1, 1 or 0, without fraction bits
};
// A = lower diag(pivots) lower^T.
std::vector<DefiniteFactor> FactorDefinite(Engine& engine,
                                           std::span<const DefiniteMatrix> matrices);

struct DefiniteInverse {
  Shared inverse;    // p x p; its bound is 1 / smallest_pivot
  Shared pivots;     // as above
  Shared collinear;  // as above; also 1 where the inverse is too large or its check failed
};
// fraction_bits: of the inverses.
std::vector<DefiniteInverse> InvertDefinite(Engine& engine,
                                            std::span<const DefiniteMatrix> matrices,
                                            int fraction_bits);

// The sum of the logarithms of the pivots, 1 x 1 each; collinear variables count zero. Error
// p (2^-f + 2^-41) plus what the pivots err by. Rounds of Log (logarithm.h).
struct Pivots {
  Shared pivots;
  double smallest_pivot = 0x1p-20;
};
std::vector<Shared> LogDeterminant(Engine& engine, std::span<const Pivots> all, int fraction_bits);

// X B for an inverse X and p x k right-hand sides B; `largest` bounds the solutions. Rounds 2.
struct LinearSystem {
  Shared inverse, right;
  double largest = 0;
};
std::vector<Shared> Solve(Engine& engine, std::span<const LinearSystem> systems, int fraction_bits);

}  // namespace partita::mpc
