// Inverses of unit lower triangular shared matrices, several at once.
//
// Method    With N = I - L, nilpotent: L^-1 = (I + N)(I + N^2)(I + N^4)...
// Error     Every product is cut, so about 2^-f p times the largest entry of the powers of N. Those
//           may be far larger than the entries of L and of its inverse: `largest` bounds all of
//           them.
// Rounds    2 (ceil(log2 p) - 1) products with their cuts, p the largest number of rows.
// Revealed  Nothing.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

// Replaces every matrix by its inverse. p x p with ones on the diagonal (not checked) and
// fraction_bits fraction bits, which must be the same for all.
void InvertUnitLower(Engine& engine, const std::vector<Shared*>& matrices, int fraction_bits,
                     double largest);

}  // namespace partita::mpc
