// Inverse roots of shared matrices that are positive semidefinite by their making, times something
// else, in a number of rounds that does not grow with their size: a coupled iteration of
// Newton-Schulz steps with scaling.
//
// Domain    p x p, symmetric (not checked), eigenvalues from -smallest / 64 to `largest`; those of
//           at least `smallest` come out right. Both are public, their ratio at most 2^24. With
//           smaller eigenvalues what comes out is too small there, and within its bound. Matrices
//           with eigenvalues further outside give garbage; on no engine more than that is lost, as
//           everything that is cut is so wide that `shamir` masks it uniformly.
// Result    X B for X = A^-1/2, symmetric, and a p x k matrix B; and D = I - M, where M is what the
//           iteration has made of A before its last step. All eigenvalues of A are within the
//           domain if |D|_F^2 is at most p ResidualOf(..)^2; and conversely, as long as nothing has
//           left the ring, a D that small proves that X A X = I within 3/4 |D|^2, whatever A was.
// Error     For eigenvalues of at least `smallest`, |X A X - I| <= p 2^-41 largest / smallest +
//           2^-28 in the spectral norm (cuts of M, the polynomial), and p 2^(3-f) sqrt(largest)
//           more (cuts of the product, f its fraction bits). Failure probability 0; the cuts round
//           at random.
// Method    M = A / 4^h, X = B / 2^h; then with Q = a I - b M: X <- Q X and M <- M Q^2. On roots x
//           of eigenvalues a step is x (a - b x^2), the a and b those that come nearest to 1 on the
//           whole interval (Higham 2008, chapter 6; for composed polynomials Amsel, Persson, Musco
//           and Gower 2025, arXiv 2505.16932), public and on a grid.
// Rounds    2 steps - 1 products and cuts, RootSteps says how many steps: 11 for a ratio of 2^20;
//           D = 1 (`dealer`): 42. Any number of matrices at once.
// Bytes     Two products of p x p and one of p x k a step.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include <span>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

struct RootedMatrix {
  Shared matrix;
  double largest = 0, smallest = 0;  // eigenvalues
  Shared right;                      // B; its bound is that of the norms of its columns
};

struct InverseRootProduct {
  Shared product;   // X B
  Shared residual;  // D
};
std::vector<InverseRootProduct> InverseRootTimes(Engine& engine,
                                                 std::span<const RootedMatrix> matrices,
                                                 int fraction_bits);

int RootSteps(double largest, double smallest);
// The largest eigenvalue of D within the domain.
double ResidualOf(double largest, double smallest);

}  // namespace partita::mpc
