// Shares whose sum is a geometric or a discrete Laplace variable, and shares of an exponential
// variable on a grid.
//
//   Polya (negative binomial)  P(k) = (1 - a)^r (r)_k / k! a^k,  k >= 0,  r = 1/m,  a = exp(-1/t)
//
// The sum of m independent Polya(1/m) variables is geometric; the sum of m differences of two is
// discrete Laplace of scale t (Goryczka & Xiong 2017). A coalition of c that subtracts its own
// shares faces the Polya law of r = (m - c)/m: heavier at 0 and NOT discrete Laplace; its loss is
// that law's, not epsilon.
//
// Gamma on a grid: with t = 2^f a share, times 2^-f, stands in for Gamma(1/m, 1).
// Error   The sum of all m is EXACTLY floor(2^f E) 2^-f for E ~ Exp(1), hence less than 2^-f below
//         an exponential variable, whatever m is. (Gamma variables rounded one by one would lie up
//         to m 2^-f below.)
// Law     Exactly that law: bins with integer weights that dominate the masses, and acceptance
//         decided by MPFR whenever doubles do not prove it. Proof in polya_table.h.
// Cost    Construction 25 ms (t = 2^10) to 100 ms (t = 2^80); then 15 to 30 ns per share.
// Timing  NOT constant. Draw noise ahead of time (security.md, R65).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/int128.h"
#include "crypto/random.h"

namespace partita::privacy {

class PolyaTable;

// One party's part of a geometric variable: Polya(1/parties) with a = exp(-1 / scale).
class PolyaShare {
 public:
  // scale_grid_units: a whole number from 1 to 2^100. parties: 1 to 10^6. Throws kUsage otherwise.
  PolyaShare(UInt128 scale_grid_units, uint32_t parties);
  ~PolyaShare();
  PolyaShare(PolyaShare&&) noexcept;
  PolyaShare& operator=(PolyaShare&&) noexcept;

  Int128 Sample(crypto::RandomSource& source) const;
  void Sample(crypto::RandomSource& source, std::span<Int128> out) const;

 private:
  std::unique_ptr<const PolyaTable> table_;
};

// One party's part of a discrete Laplace variable: the difference of two Polya shares.
class DiscreteLaplaceShare {
 public:
  DiscreteLaplaceShare(UInt128 scale_grid_units, uint32_t parties)
      : polya_(scale_grid_units, parties) {}

  Int128 Sample(crypto::RandomSource& source) const {
    const Int128 plus = polya_.Sample(source);
    return plus - polya_.Sample(source);
  }
  void Sample(crypto::RandomSource& source, std::span<Int128> out) const {
    for (Int128& value : out) value = Sample(source);
  }

 private:
  PolyaShare polya_;
};

// One party's part of an exponential variable in units of 2^-fraction_bits (0 to 100).
PolyaShare GammaShare(int fraction_bits, uint32_t parties);

}  // namespace partita::privacy
