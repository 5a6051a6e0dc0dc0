// The proposal of the discrete Gaussian sampler, and why its output is exactly that law.
//
// The half line 0, 1, 2, .. is cut into bins [j 2^s, (j + 1) 2^s), j = 0 .. J - 1, and a tail from
// J 2^s on. With e(m) = exp(-m^2 / (2 sigma^2)), a positive integer S and integer weights
//   w_j >= S e(j 2^s),   w_J (the tail) >= 128 S e(J 2^s),   sum with the reject slot = 2^64,
// one candidate is
//   1. a slot, with probability w / 2^64 exactly (alias table); the reject slot ends it;
//   2. in bin j: m = j 2^s + low, low uniform in 2^s. In the tail: block g with probability
//      2^-(g+1), one of its 64 bins b and low uniformly: m = (J + 64 g + b) 2^s + low;
//   3. a sign; (-, 0) ends it;
//   4. accepted with probability  S e(m) / w_j,  in the tail  S e(m) 64 2^(g+1) / w_J.
// Both are at most 1: in the bin because e falls; in the tail because e falls to less than 1/2 per
// block (64 2^s > sigma and J 2^s >= sigma: the exponent grows by more than 1 + 1/2). Every
// candidate (sign, m) is accepted with probability S e(m) 2^-(64+s+1), whatever slot it came from,
// so the accepted ones have exactly the law.
//
// Step 4 compares a uniform U, whose bits are read when needed, with the ratio:
//   - 16 bits: accept if they are below quick_j = min(65535, floor(2^16 S e(end of bin) / w_j));
//   - 64 more bits and doubles: with d = low (2 j 2^s + low) / (2 sigma^2) < 0.51 the computed
//     r = (S e(j 2^s) / w_j) exp(-d) has a relative error below 2^-48: five roundings of 2^-53 in
//     d, two outside, and exp within 8 units in the last place (C libraries promise 1 or 2).
//     Decided unless U and r are within r 2^-45 of each other;
//   - else AcceptBelow (lazy_uniform.h): directed rounding and more bits of U, exact.
// The stages differ in cost only: each decides as the exact comparison would.
#pragma once

#include <cstdint>
#include <vector>

#include "privacy/sampling/alias_table.h"
#include "privacy/sampling/grid_variance.h"

namespace partita::privacy {

struct GaussianTable {
  GridVariance variance;
  int width_bits = 0;                  // s
  uint32_t bins = 0;                   // J; slot J is the tail, slot J + 1 rejects
  uint64_t scale = 0;                  // S
  std::vector<uint64_t> weights;       // w_0 .. w_J, then the reject slot
  std::vector<uint16_t> quick;         // quick_0 .. quick_{J-1}, then 0, 0
  std::vector<double> ratio_at_start;  // S e(j 2^s) / w_j, to nearest
  double inverse_two_variance = 0;     // to nearest
  AliasTable alias;
};

// Bins per block of the tail.
constexpr uint32_t kTailBlockBins = 64;
// Layout of a candidate's last word: sign bit, then 16 bits of U on top; the low bits below.
constexpr int kHeadShift = 48;
constexpr int kSignShift = 47;
// One word holds sign, U and the low bits up to here; above, the low bits take a word more.
constexpr int kNarrowWidthBits = 47;
// The tail starts here unless told otherwise: a candidate in 10^17 gets there.
constexpr double kTailStddevs = 9.5;

// tail_stddevs: where the tail starts, 1 to 16 sigma. It changes the cost, never the law. Throws
// kUsage for a variance that is not accepted.
GaussianTable BuildGaussianTable(const GridVariance& variance, double tail_stddevs = kTailStddevs);

}  // namespace partita::privacy
