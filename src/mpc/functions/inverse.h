// Inverses of shared matrices that are positive definite by their making, such as Gram matrices,
// in a number of rounds that does not grow with their size: Newton-Schulz (Goldschmidt) steps with
// Chebyshev's scaling.
//
// Domain    p x p, symmetric (not checked), positive semidefinite, all eigenvalues at most
//           `largest` (p for a unit diagonal). Eigenvalues of at least `smallest` come out right;
//           both are public, their ratio at most 2^24. An eigenvalue below it gives an inverse
//           that is too small there, positive definite still and within the result's bound. NOT for
//           matrices that may be indefinite: a negative eigenvalue, or one beyond `largest`, leaves
//           the bounds of this function, which gives garbage (and on `shamir`, where bounds carry
//           the masks, secrecy); InvertDefinite is for those, and for whoever needs to know which
//           variable is collinear.
// Error     For eigenvalues of at least `smallest`, of p x p matrices in the spectral norm:
//           |X - A^-1| <= |A^-1| (p 2^-44 + (p 2^-44 largest / smallest)^2 + 2^-44) + p 2^-f (f:
//           fraction bits of X). The cuts of E grow by the ratio of the eigenvalues and are squared
//           by the last step. Failure probability 0.
// Method    X = c I, E = I - c A with c = 2 / (largest + smallest), so that |E| <= e < 1 on the
//           spectrum; then E <- (1 - w) I + w E^2 and X <- w X (I + E), side by side, which keeps
//           E = I - A X, with the w in [1, 2] that makes the next e smallest: w = 2 / (2 - e^2),
//           Chebyshev polynomials of degree 2^j (Golub and Varga 1961; for inverses Pan and Schreiber
//           1991). After about log2(sqrt(largest / smallest)) + 3 steps e is below 2^-22, and one
//           step X (2 I - A X) squares it and takes back what the cuts have done.
// Rounds    Cut + (steps + 2) product-and-cuts: with D = 1 (`dealer`) 1 + 2 (steps + 2), where
//           StepsFor says how many: 14 for a ratio of 2^20. Any number of matrices at once.
// Bytes     Two products of p x p a step.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include <span>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

struct PositiveMatrix {
  Shared matrix;
  double largest = 0;   // of its eigenvalues; what the matrix's diagonal adds up to will do
  double smallest = 0;  // eigenvalue that comes out right
};

// fraction_bits: of the inverses. Their bound is what a singular matrix would give, at most 256 /
// smallest.
std::vector<Shared> InvertPositive(Engine& engine, std::span<const PositiveMatrix> matrices,
                                   int fraction_bits);

// How many times the polynomial's degree is doubled.
int StepsFor(double largest, double smallest);

}  // namespace partita::mpc
