// Reciprocals and roots of positive shared values, whole arrays at a time.
//
// Domain    smallest <= x <= bound(x), both public, smallest > 0 (normalise.h). Below smallest, 0
//           included, the result is 0. Fraction bits of x and of the result are free as long as
//           everything fits (kBadInput before anything is sent): with f = 40 on both sides,
//           2^-40 <= x < 2^40.
// Error     Reciprocal: at most 2^-f absolute (the last cut) plus 2^-40 relative. InverseRoot and
//           Root: 2^-f + 2^-(f + 3) absolute plus 2^-40 relative; powers of 2^(1/2), which they are
//           scaled back by, are rounded to f + 3 bits. Failure probability 0; the cuts round at
//           random (Engine::Rescale).
// Rounds    with D = 1 (`dealer`) or 2 (`replicated`), after Normalise and counted as there:
//             Reciprocal 12, InverseRoot 12 + D, Root 14 + D,
//           and D more where the result may exceed 2^22 (at f = 40). Reciprocal needs no short
//           mantissa: D less for values of at most 58 bits.
// Bytes     those of Normalise, and about 10 products with their cuts: for [0.05, 50] at f = 40 the
//           busiest process sends 660 or 455 per entry for Reciprocal (all together 1610 or 1350),
//           615 or 450 for InverseRoot (1460 or 1330).
//
// Reciprocal: y_0 = 2.828125 - 1.875 c for the mantissa c has |e| <= 2^-3.9 with e = 1 - c y_0, and
//   1 / c = y_0 / (1 - e) = y_0 (1 + e) (1 + e^2) (1 + e^4) (1 + e^8) / (1 - e^16): relative error
//   e^16 < 2^-62 (Goldschmidt 1964).
// InverseRoot: y_0 a cubic with |y_0 sqrt(c) - 1| < 2^-11.02, e = 1 - c y_0^2, |e| < 2^-10, and
//   c^(-1/2) = y_0 (1 - e)^(-1/2) = y_0 (1 + e/2 + 3 e^2/8 + 5 e^3/16 + ...): cut there, relative
//   error 35/128 e^4 < 2^-41. Root is c times that.
// The power of two comes back as a weighted sum of the marks of the leading bit: no parity, no
// further product but one.
// Timing    constant in shares; not in shapes and bounds (public). Proved by tests/ctime.
#pragma once

#include <span>
#include <vector>

#include "mpc/functions/normalise.h"

namespace partita::mpc {

// 1 / x.
std::vector<Shared> Reciprocal(Engine& engine, std::span<const PositiveValue> values,
                               int fraction_bits);
// x^(-1/2).
std::vector<Shared> InverseRoot(Engine& engine, std::span<const PositiveValue> values,
                                int fraction_bits);
// 1 / x in two parts, for callers who rescale themselves: `value` is of the mantissa c of
// x = c 2^(e + 1), at kMantissaBits and with 2^-50 relative error.
struct OfMantissa {
  Shared value;
  Normalised argument;  // its marks give any power of two: WeightOfExponent
};
// 1 / c, at most 2, and 1 / x = value 2^-(e + 1). Rounds after Normalise: 10.
std::vector<OfMantissa> ReciprocalParts(Engine& engine, std::span<const PositiveValue> values);
// 1 / c of values that lie in [1/2, 1] anyway, or are 0 (whose result is 0 too), at kMantissaBits.
// Rounds 10.
std::vector<Shared> ReciprocalOfMantissas(Engine& engine, std::span<const Shared> mantissas);
// Both of the same values, with one Normalise: rounds of Root.
struct BothRoots {
  Shared root, inverse;
};
std::vector<BothRoots> RootAndInverse(Engine& engine, std::span<const PositiveValue> values,
                                      int fraction_bits);
// x^(1/2).
std::vector<Shared> Root(Engine& engine, std::span<const PositiveValue> values, int fraction_bits);

}  // namespace partita::mpc
