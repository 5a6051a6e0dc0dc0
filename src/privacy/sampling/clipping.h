// Clipping a row to a public norm, with the bound proved for the INTEGERS that enter the protocol.
//
//   L1, L2  clip(x) = round(2^f x min(1, C' / |x|)),     C' = C (1 - 2^-16);
//   Linf    clip(x)_i = round(2^f min(C', max(-C', x_i))).
// What is charged is C (methods.md, R-f); the gap to C' pays for all rounding:
//
// Theorem. For d <= 2^30 coordinates and 2^f C >= 2^17 d^(1/p), p = 1, 2 or infinity, every output
//   k has |k|_p <= 2^f C.
// Proof. Let u = 2^-53. The computed norm n of x (scaled by a power of two; what underflows in
//   squares is below u^4 of the norm) satisfies n >= |x| (1 - (d/2 + 3) u) for p = 2 and
//   n >= |x| (1 - (d + 1) u) for p = 1: the rounding of sums of non-negative terms. The factor
//   C'/n and the products add 4 u. With d <= 2^30 the real vector before rounding has a norm of at
//   most 2^f C (1 - 2^-16)(1 + 2^-22). Rounding to nearest adds at most d^(1/p) / 2 <= 2^f C 2^-18.
//   The sum is below 2^f C, for 2^-16 > 2^-22 + 2^-18.  []
//
// The rows then have sensitivity C (add/remove) or 2 C (replace) on the grid, with no further term
// for rounding. NaN and infinities throw kBadData with the number of the coordinate; a bound that
// the theorem does not cover throws kUsage.
#pragma once

#include <span>

#include "base/int128.h"
#include "privacy/sampling/sensitivity.h"

namespace partita::privacy {

// The room below the charged bound.
constexpr double kClipMargin = 0x1p-16;

// A public clipping bound on the grid of 2^-fraction_bits (0 to 100).
struct ClipBound {
  Norm norm = Norm::kL2;
  double bound = 0;
  int fraction_bits = 0;
};

// out[i] = clip(row)[i] in grid units. Spans of equal size.
// Whether a row was clipped depends on the data: tell its owner only.
void ClipToGrid(std::span<const double> row, const ClipBound& bound, std::span<Int128> out);

}  // namespace partita::privacy
