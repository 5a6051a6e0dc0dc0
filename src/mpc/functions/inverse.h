// Inverses of shared matrices that are positive definite by their making, such as Gram matrices,
// in a number of rounds that does not grow with their size: Newton-Schulz (Goldschmidt) steps with
// Chebyshev's scaling.
//
// Domain    p x p, symmetric (not checked), positive semidefinite, all eigenvalues at most
//           `largest` (p for a unit diagonal). Eigenvalues of at least `smallest` come out right;
//           both are public, their ratio at most 2^24. Eigenvalues below, down to -smallest / 64,
//           give an inverse that is too small there, positive definite still and within the
//           result's bound; callers whose matrix may be singular and is rounded add smallest I
//           first. NOT for matrices that may be indefinite: eigenvalues further below zero, or
//           beyond `largest`, give garbage and nothing that says so. (No more than that on any
//           engine: what is cut here is so wide that `shamir` masks it uniformly.) InvertDefinite
//           (definite.h) is for those, and for whoever needs to know which variable is collinear.
// Error     X is symmetric to the last bit. For eigenvalues of at least `smallest`, of p x p
//           matrices in the spectral norm, InvertPositive: |X - A^-1| <= |A^-1| (p 2^-44 +
//           (p 2^-44 largest / smallest)^2 + 2^-44) + p 2^(1-f) (f: fraction bits of X), as the
//           cuts of E grow by the ratio of the eigenvalues and are squared by the last step.
//           InvertRoughly: the eigenvalues of I - A X within +-(residual + p 2^-44 largest /
//           smallest), and of X p 2^(1-f) more. Failure probability 0.
// Method    X = c I, E = I - c A with c = 2 / (largest + smallest), so that |E| <= e < 1 on the
//           spectrum; then E <- (1 - w) I + w E^2 and X <- w X (I + E), side by side, which keeps
//           E = I - A X, with the w in [1, 2] that makes the next e smallest: w = 2 / (2 - e^2),
//           Chebyshev polynomials of degree 2^j (Golub and Varga 1961; for inverses Pan and
//           Schreiber 1991). After about log2(sqrt(largest / smallest)) + 3 steps e is below 2^-22,
//           and one step X (2 I - A X) squares it and takes back what the cuts have done.
// Rounds    InvertPositive: Cut + (steps + 2) product-and-cuts: with D = 1 (`dealer`) 1 + 2 (steps
//           + 2), where StepsFor says how many: 14 for a ratio of 2^20. InvertRoughly: without the
//           2: 1 + 2 steps, 10 of them for a ratio of 2^16 and a residual of 2^-8; a single step is
//           a cut alone. Any number of matrices at once.
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

// fraction_bits: of the inverses. Their bound is what a singular matrix would give, at most 48 /
// smallest.
std::vector<Shared> InvertPositive(Engine& engine, std::span<const PositiveMatrix> matrices,
                                   int fraction_bits);

// Without the last correction, for inverses that only shape a step. residual: between 2^-22 and 1.
// Their bound is at most 8 / smallest for residuals of at least 2^-8.
std::vector<Shared> InvertRoughly(Engine& engine, std::span<const PositiveMatrix> matrices,
                                  double residual, int fraction_bits);

// K^-1 R for a positive definite K (m x m) of which a guess J of the inverse is known, positive
// definite as well, and m x r right-hand sides R: the same steps from E = I - c J K, applied to c J R.
// The eigenvalues of J K, positive as those of K^1/2 J K^1/2, have to lie between `smallest` and
// `largest`, with room for what J and K are off by. Error: what is cut, by m 2^-44 largest /
// smallest times the root of J's condition number, and `residual`. Rounds: 1 + steps products and
// cuts; `dealer`: 2 (1 + StepsFor(largest, smallest, residual)). Bytes: a product of m x m and one
// of m x r a step.
struct GuessedSystem {
  Shared matrix, guess, right;       // K, J, R; R's bound is that of the solutions
  double largest = 0, smallest = 0;  // eigenvalues of J K
};
std::vector<Shared> SolveFromGuess(Engine& engine, std::span<const GuessedSystem> systems,
                                   double residual, int fraction_bits);

// 1 / x of numbers, entry by entry, in [smallest, largest], both public and above 0, largest at most
// 2^8 smallest: the same steps, without looking for a leading bit as Reciprocal (reciprocal.h) does.
// Error: 2^-f + 2^-39.5 relative. Rounds: Cut + StepsFor(largest, smallest, kRangeResidual) products
// and cuts; for [1, 20] and D = 1 15, where Reciprocal takes 25; without the Cut where x / largest has
// at most 53 fraction bits, if a start on the grid of 1/8 takes no more steps. Bytes: two products a
// step.
inline constexpr double kRangeResidual = 0x1p-40;
struct NumbersInRange {
  Shared values;
  double largest = 0, smallest = 0;
};
std::vector<Shared> ReciprocalInRange(Engine& engine, std::span<const NumbersInRange> numbers,
                                      int fraction_bits);

// How many times the polynomial's degree is doubled, at least once.
inline constexpr double kCorrectedResidual = 0x1p-22;  // of InvertPositive, before its correction
int StepsFor(double largest, double smallest, double residual = kCorrectedResidual);

}  // namespace partita::mpc
