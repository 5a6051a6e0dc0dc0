// The proposal of the Polya sampler, and why its output is exactly the Polya law.
//
//   f(k) = a_k exp(-k / t),   a_k = (r)_k / k! = Gamma(k+r) / (Gamma(r) Gamma(k+1)),   r = 1 / m.
//
// f falls in k, for a_k / a_{k-1} = (k - 1 + r) / k <= 1. Bins [start_j, start_j + 2^b_j), of width
// 1 below 64 and then at most start / 32 and t / 8, cover 0 .. K - 1. The tail from K on consists
// of blocks of length 2^c >= t, block g with probability 2^-(g+1). With a rational S and integer
// weights
//   w_j >= S 2^b_j f(start_j),    w_tail >= S 2^(c+1) f(K),    sum with the reject slot = 2^64,
// a candidate k, uniform in its bin or block, is accepted with probability
//   S 2^b_j f(k) / w_j,           in the tail  S 2^(c+g+1) f(k) / w_tail,
// both at most 1 (f falls, per block to less than e^-1 < 1/2). Every k is then accepted with
// probability S f(k) 2^-64: exact.
//
// Bounds of a_k (Kershaw, Math. Comp. 41, 1983, with x = k, s = r), for k >= 1:
//   (k - 1/2 + sqrt(r + 1/4))^(r-1) <= Gamma(r) a_k <= (k + r/2)^(r-1),
// whose ratio is at least 1 - 1/(8k), because sqrt(r + 1/4) - (1 + r)/2 <= 1/8. The upper one makes
// the weights; both decide in doubles, with a band of 2^-44 for rounding; what is left goes to
// AcceptBelow (lazy_uniform.h) with MPFR's log-gamma.
//
// Tape: per candidate three words: the slot; 64 low bits; 16 bits of U on top of further low bits.
// In the tail then words until one is not 0 (g counts the zero bits). Then, unless the 16 bits
// settle it, one word of U, and more while f(k) lies inside what is known of U.
#pragma once

#include <cstdint>
#include <vector>

#include "base/int128.h"
#include "privacy/sampling/alias_table.h"
#include "privacy/sampling/interval.h"
#include "privacy/sampling/polya_density.h"

namespace partita::privacy {

struct PolyaBin {
  UInt128 start = 0;
  int width_bits = 0;         // b_j; for the tail c
  double ratio_at_start = 0;  // S 2^b (upper bound of f(start)) / w, to nearest
};

class PolyaTable {
 public:
  // The arguments of PolyaShare; throws kUsage likewise.
  PolyaTable(UInt128 scale_grid_units, uint32_t parties);

  UInt128 scale() const { return scale_; }
  uint32_t parties() const { return parties_; }
  // The last one is the tail.
  const std::vector<PolyaBin>& bins() const { return bins_; }
  // One per bin, then the reject slot.
  const std::vector<uint64_t>& weights() const { return weights_; }
  const AliasTable& alias() const { return alias_; }
  // S.
  PreciseInterval Scale(mpfr_prec_t precision) const;

 private:
  void AddBins();
  // 2^b f(start), twice that for the tail: one interval per bin.
  std::vector<PreciseInterval> Masses(const PolyaLaw& law) const;
  void ChooseScale(const std::vector<PreciseInterval>& masses);
  void AddWeights(const PolyaLaw& law, const std::vector<PreciseInterval>& masses);

  UInt128 scale_;
  uint32_t parties_;
  std::vector<PolyaBin> bins_;
  std::vector<uint64_t> weights_;
  uint64_t scale_mantissa_ = 0;
  long scale_exponent_ = 0;
  AliasTable alias_;
};

}  // namespace partita::privacy
