// f(k) = (r)_k / k! exp(-k / t), r = 1 / parties, t = scale: the Polya law up to its constant.
#pragma once

#include <cstdint>

#include "base/int128.h"
#include "privacy/sampling/interval.h"

namespace partita::privacy {

// Below this (r)_k / k! is multiplied out.
constexpr uint64_t kExactCoefficients = 64;

// As narrow as the precision allows: a narrow interval, by log-gamma from kExactCoefficients on.
Interval PolyaDensity(UInt128 scale, uint32_t parties, UInt128 k, mpfr_prec_t precision);
// Kershaw's bounds (polya_table.h) from kExactCoefficients on: relative width 1 / (8 k), cheaper.
Interval PolyaDensityBounds(UInt128 scale, uint32_t parties, UInt128 k, mpfr_prec_t precision);

}  // namespace partita::privacy
