// f(k) = (r)_k / k! exp(-k / t), r = 1 / parties, t = scale: the Polya law up to its constant.
#pragma once

#include <cstdint>

#include "base/int128.h"
#include "privacy/sampling/interval.h"

namespace partita::privacy {

// Below this (r)_k / k! is multiplied out.
constexpr uint64_t kExactCoefficients = 64;

// One law at one working precision, with its constants.
class PolyaLaw {
 public:
  PolyaLaw(UInt128 scale, uint32_t parties, mpfr_prec_t precision);

  // f(k), as narrow as the precision allows; by log-gamma from kExactCoefficients on (0.1 ms).
  PreciseInterval Density(UInt128 k) const;
  // Contains f(k): Kershaw's bounds (polya_table.h) from kExactCoefficients on, of relative width 1
  // / (8 k).
  PreciseInterval DensityBounds(UInt128 k) const;

 private:
  PreciseInterval Number(UInt128 value) const { return PreciseInterval::Of(value, precision_); }
  PreciseInterval Decay(UInt128 k) const { return -(Number(k) / scale_); }
  PreciseInterval Coefficient(uint64_t k) const;
  PreciseInterval LogCoefficientAt(const Real& r, const PreciseInterval& k) const;

  mpfr_prec_t precision_;
  PreciseInterval scale_;
  PreciseInterval one_;
  PreciseInterval r_;
  PreciseInterval gamma_;    // Gamma(r)
  PreciseInterval low_add_;  // -1/2 + sqrt(r + 1/4)
};

}  // namespace partita::privacy
