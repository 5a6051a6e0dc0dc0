// The exponential function of shared values, whole arrays at a time.
//
// Domain    x <= largest, public, with e^largest < 2^45.9, and |x| <= bound(x). Far below zero the
//           result is 0: exactly 0 for x < -(f + 1 + 2^-7) ln 2, where e^x is less than half a
//           unit. f = fraction_bits of the result: e^largest 2^f < 2^85.9, so f = 40 always fits
//           and smaller results may have more. Anything else: kBadInput, before anything is sent.
// Error     2^-f absolute (the last cut) plus 2^-39 relative; plus 2^-37 relative if e^largest
//           2^f > 2^80. Failure probability 0; the cuts round at random (Engine::Rescale).
// Method    u = x log2(e) + f + 1 is cut twice in one set of rounds, for the polynomial and,
//           coarsely, for its integer part: the bits of the coarse one (compare.h), those of the
//           integer as ring elements, 2^integer as a product of 1 + bit (2^(2^k) - 1), and
//           z = u - integer, in [0, 1] but for what the coarse cut is off by, 2^-8. 2^z is a
//           polynomial of degree 8 (Remez' algorithm, relative error 2^-39.9 there as rounded). The
//           sign bit of the coarse u clears what lies below.
// Rounds    D = 1 (`dealer`) or 2 (`replicated`), C = 2 for a product and its cut, w bits of u at 8
//           fraction bits: 3 D + 4 C + ceil(log2(w - 1)) (on `replicated` the longest chain may be
//           shorter); BinaryExponential without the first D.
// Bytes     for |x| <= 50 at f = 40 the busiest process sends 570 (`dealer`) or 410 (`replicated`)
//           per entry; all together 1560 or 1230.
// Timing    constant in shares; not in shapes and bounds (public). Proved by tests/ctime.
#pragma once

#include <span>
#include <vector>

#include "mpc/functions/arithmetic.h"

namespace partita::mpc {

struct BoundedAbove {
  Shared value;
  double largest = 0;
};

// e^x, one set of rounds for the list.
std::vector<Shared> Exponential(Engine& engine, std::span<const BoundedAbove> values,
                                int fraction_bits);

// An exponent of 2, cut twice: to kFineBits and to kCoarseBits.
struct BinaryExponent {
  static constexpr int kFineBits = 41, kCoarseBits = 8;
  Shared fine, coarse;
  double largest = 0;
};

// x log2(e), local: so many more fraction bits that it has to be cut before it is used.
Shared TimesLog2E(Engine& engine, const Shared& value);
// Both cuts of `exponent`, in the round of `cuts`, which replaces them in `result`.
void AddCuts(const Shared& exponent, CutRound& cuts, BinaryExponent& result);

// 2^v, of exponents below 66.3; domain, error and cost as above, without the first cut.
std::vector<Shared> BinaryExponential(Engine& engine, std::span<const BinaryExponent> exponents,
                                      int fraction_bits);

}  // namespace partita::mpc
