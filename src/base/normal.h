// The standard normal distribution in doubles, to a few units in the last place. Where an error must
// be bounded or bounds be certain: privacy/accounting/normal.h and privacy/sampling/interval.h.
#pragma once

#include <cmath>
#include <numbers>

namespace partita {

// P[Z > x]; small ones are as exact as large ones.
inline double NormalTail(double x) { return std::erfc(x / std::numbers::sqrt2) / 2; }

// P[|Z| > |x|].
inline double NormalTails(double x) { return std::erfc(std::abs(x) / std::numbers::sqrt2); }

}  // namespace partita
