// Positive values as mantissa times a power of two, all of it shared: what reciprocals and roots of
// values of unknown size begin with.
//
// Domain      smallest <= x <= bound(x), smallest > 0 and both public. Below smallest, 0 included,
//             no power is found, and what is made of it is 0; negative values give arbitrary
//             results. Nothing is checked or revealed.
// Method      All bits of x (compare.h), AND of the complements from the top bit down, whose steps
//             mark the leading bit; the marks as ring elements; x times the power that they select.
// Exactness   The product is exact; cutting it to kMantissaBits costs less than 2^-58.
// Rounds      w = BitsFor(x), m the powers of two between smallest and bound(x), D = 1 (`dealer`)
//             or 2 (`replicated`, where the longest chain of messages may be one shorter):
//             2 D + 2 + ceil(log2(w - 1)) + ceil(log2 m), of which 2 for the product and its cut:
//             1 if no mantissa has fewer bits than x (w - 1).
// Bytes       The m ring elements per entry of the marks are most of it: a narrow range is the
//             largest saving.
// Timing      constant in shares; not in shapes and bounds (public). Proved by tests/ctime.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

inline constexpr int kMantissaBits = 58, kShortMantissaBits = 30;

struct PositiveValue {
  Shared value;
  double smallest = 0;  // > 0
};

// x = mantissa * 2^(e + 1) with mantissa in [1/2, 1).
struct Normalised {
  Shared mantissa;        // at kMantissaBits, or as asked for
  Shared short_mantissa;  // at kShortMantissaBits, for first guesses; empty if not asked for
  Shared marks;           // m x entries: row i is 1 where e = first_exponent + i, else 0
  int first_exponent = 0;
};

struct MantissaFormat {
  int bits = kMantissaBits;
  bool short_one_too = true;
};

// One set of rounds for the list. Throws kUsage unless 0 < smallest <= bound.
std::vector<Normalised> Normalise(Engine& engine, std::span<const PositiveValue> values,
                                  const MantissaFormat& format = {});

// The same if the bits of value * 2^fraction_bits are known already (bits[i]: plane j is bit j, at
// least as many as the bound says and all others zero): without the rounds of ToBits, D +
// ceil(log2(w - 1)).
std::vector<Normalised> NormaliseBits(Engine& engine, std::span<const PositiveValue> values,
                                      std::span<const SharedBits> bits,
                                      const MantissaFormat& format = {});

// weight(e) of every entry, rounded to `fraction_bits`; local. The shape is that of the value.
Shared WeightOfExponent(Engine& engine, const Normalised& value,
                        const std::function<double(int exponent)>& weight, int fraction_bits);

}  // namespace partita::mpc
