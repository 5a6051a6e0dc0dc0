// Fixed point: a real number as an integer on the grid 2^-fraction_bits.
//
// Timing  NOT constant in the number: its exponent decides how it is shifted, and a number that
//         does not fit throws. Its owner encodes rows on its own machine while it reads the table,
//         which is not constant either. What is decoded was opened.
#pragma once

#include "base/int128.h"

namespace partita::mpc {

// Every encoded value is below 2^126 in magnitude, so that truncation has its two free top bits.
inline constexpr int kMaxFractionBits = 126;

// Rounds half away from zero to the grid 2^-fraction_bits, exactly. Throws kBadInput for NaN, an
// infinity or |x| 2^fraction_bits >= 2^126 (without naming the value, which may be secret), kUsage
// unless 0 <= fraction_bits <= 126.
Int128 EncodeFixed(double x, int fraction_bits);

// The double nearest to value / 2^fraction_bits (ties to even); exact when it fits 53 bits. Any
// value and 0 <= fraction_bits <= 126, else kUsage.
double DecodeFixed(Int128 value, int fraction_bits);

}  // namespace partita::mpc
