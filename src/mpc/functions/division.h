// Quotients of shared values, whole arrays at a time.
//
// Domain    |a| <= bound(a); smallest <= b <= bound(b) as in normalise.h (below smallest, 0
//           included, the result is 0); |a / b| <= largest, which the caller knows. With
//           b < 2^m smallest: ceil(log2 bound(a)) + bits of a at most 77, and everything fits if
//           f + m + log2(largest) < 118; else kBadInput, before anything is sent.
// Error     2^(1-f) absolute plus 2^-44 relative. Failure probability 0; the cuts round at random.
// Method    With b = c 2^(e + 1): a times 1 / c (reciprocal.h), times the power of two.
// Rounds    D = 1 (`dealer`) or 2 (`replicated`), after Normalise: 14, and D more where bits of
//           a + log2 bound(a) exceed 64.
// Bytes     those of Reciprocal, and a product with its cut: with b in [0.05, 50] at f = 40 the
//           busiest process sends 710 (`dealer`) or 470 (`replicated`) per entry; all together 1750
//           or 1400.
// Timing    constant in shares; not in shapes and bounds (public). Proved by tests/ctime.
#pragma once

#include <span>
#include <vector>

#include "mpc/functions/normalise.h"

namespace partita::mpc {

struct Quotient {
  Shared numerator;
  PositiveValue denominator;  // of the same shape
  double largest = 0;
};

// numerator / denominator.
std::vector<Shared> Divide(Engine& engine, std::span<const Quotient> quotients, int fraction_bits);

}  // namespace partita::mpc
