// The natural logarithm of positive shared values, whole arrays at a time.
//
// Domain    smallest <= x <= bound(x), both public, smallest > 0 (normalise.h); with f = 40 on both
//           sides 2^-40 <= x < 2^45. Below smallest, 0 included, the result is 0.
// Error     2^-f (the last cut) plus 2^-41, absolute; f at most 60. Failure probability 0; the cuts
//           round at random (Engine::Rescale).
// Method    x = c 2^(e + 1) with c in [1/2, 1) by Normalise, log x = log c + (e + 1) log 2. With
//           t = 4 c - 3, log c = log((3 + t) / 4) is a polynomial of degree 15 (Remez' algorithm,
//           2^-43.6 absolute) in blocks of four powers of t (Paterson & Stockmeyer 1973); the
//           multiple of log 2 is a weighted sum of the marks of the leading bit.
// Range     Powers of t at 44 bits and blocks of coefficients that shrink as 3^-k: at most 2^125.
// Rounds    D = 1 (`dealer`) or 2 (`replicated`), after Normalise: 7 + D.
// Bytes     those of Normalise, and 7 products and 10 cuts: for [0.05, 50] at f = 40 the busiest
//           process sends 630 (`dealer`) or 430 (`replicated`) per entry; all together 1450 or
//           1290.
// Timing    constant in shares; not in shapes and bounds (public). Proved by tests/ctime.
#pragma once

#include <span>
#include <vector>

#include "mpc/functions/normalise.h"

namespace partita::mpc {

std::vector<Shared> Log(Engine& engine, std::span<const PositiveValue> values, int fraction_bits);

// The same of values that were normalised to kLogMantissaBits.
inline constexpr int kLogMantissaBits = 44;
std::vector<Shared> LogOfNormalised(Engine& engine, std::span<const Normalised> values,
                                    int fraction_bits);

}  // namespace partita::mpc
