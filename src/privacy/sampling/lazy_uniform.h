// Random words, and the exact decision "a uniform number is below a real number that is only known
// by ever narrower intervals".
#pragma once

#include <cstdint>
#include <functional>

#include "base/int128.h"
#include "crypto/random.h"
#include "privacy/sampling/interval.h"

namespace partita::privacy {

// The next 8 bytes of the source.
uint64_t ReadWord(crypto::RandomSource& source);

// The number of zero bits before the first one, over as many words as it takes: geometric with
// ratio 1/2. Throws kInternal after 1024 zero bits, which no working source gives.
uint64_t ReadZeroBits(crypto::RandomSource& source);

// Uniform in [0, bound), bound > 0: the lowest bits of one word (two if bound > 2^64), drawn again
// until below. Reads nothing for bound 1.
UInt128 ReadBelow(crypto::RandomSource& source, UInt128 bound);

// A ratio in [0, 1] as an interval of the given precision in bits.
using RatioAt = std::function<PreciseInterval(mpfr_prec_t precision)>;

// Whether U < ratio, for a uniform U whose first 80 bits are head (16) and word (64). Reads one
// more word each time the ratio lies strictly inside what is known of U, and nothing otherwise: the
// tape that is read depends on the ratio alone, not on precisions. Expected cost: one evaluation.
bool AcceptBelow(uint16_t head, uint64_t word, crypto::RandomSource& source, const RatioAt& ratio);

}  // namespace partita::privacy
