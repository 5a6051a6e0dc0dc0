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
  Interval Density(UInt128 k) const;
  // Contains f(k): Kershaw's bounds (polya_table.h) from kExactCoefficients on, of relative width 1
  // / (8 k).
  Interval DensityBounds(UInt128 k) const;

 private:
  Interval Number(UInt128 value) const { return Interval::Of(value, precision_); }
  Interval Decay(UInt128 k) const { return -(Number(k) / scale_); }
  Interval Coefficient(uint64_t k) const;
  Interval LogCoefficientAt(const Real& r, const Interval& k) const;

  mpfr_prec_t precision_;
  Interval scale_;
  Interval one_;
  Interval r_;
  Interval gamma_;    // Gamma(r)
  Interval low_add_;  // -1/2 + sqrt(r + 1/4)
};

}  // namespace partita::privacy
