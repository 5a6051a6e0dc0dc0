// The sizes of shared values: which powers of two they lie below, all at once.
//
// Domain    0 <= x <= bound(x); negative values are told by `negative` and below no power.
// Method    The bits of x modulo 2^w as two addends (Engine::Decompose), u and v, with p = u XOR v,
//           g = u AND v. The sum's bits from bit j on are all zero exactly if
//             there is a carry into bit j and all p from j on are one, or
//             there is none, p_j = 0, and every p_i above equals the carry that it would need,
//             p_(i-1) OR g_(i-1) (as IsZero, compare.h).
//           Carries are a parallel prefix; what must hold from j on, for every j, two more that run
//           beside it. So no bit of the sum has to be known before the search begins.
// Exact; failure probability 0. Nothing is revealed.
// Rounds    D = 1 (`dealer`) or 2 (`replicated`), w = BitsFor(x): D + ceil(log2(w - 1)) + 2.
//           Normalise (normalise.h) takes ceil(log2 count) instead of the 2.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include <span>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

// Powers 2^first, ..., 2^(first + count - 1) of the value itself, not of its integer; the lowest is
// at least one unit of its grid.
struct PowersOfTwo {
  int first = 0;
  size_t count = 0;  // 0: only the sign is asked for
};

struct Magnitude {
  SharedBits negative;  // [x < 0], one plane
  SharedBits below;     // plane i: [0 <= x < 2^(first + i)]; as many as `count`
};

// One set of rounds for the list. powers: one for each value. Throws kUsage for powers outside the
// value's bits.
std::vector<Magnitude> MagnitudesOf(Engine& engine, std::span<const Shared> values,
                                    std::span<const PowersOfTwo> powers);

// `below` of the larger of two, entry by entry, of equal shapes, fraction bits and bounds. Rounds as
// above, with the w of x - y: choosing costs 3 ANDs a power, but none; with a dealer 2 less, by
// windows (window_carries.h), D + 2 + ceil(log2(v / 4)) for v = the larger of w - 1 and w + 3 less the
// bits below the lowest power. Which of them it is has to be asked for beside (IsNegativeInWindows) by
// whoever needs the value as well.
SharedBits BelowOfLarger(Engine& engine, const Shared& x, const Shared& y,
                         const PowersOfTwo& powers);

// A number for every entry that depends on the power which the entry lies below first: classes[i]
// where 2^(first + i - 1) <= x < 2^(first + i), for i = 0 all below 2^first, and classes[count] for
// what is not below any. `below` are the planes of Magnitude as ring elements (Engine::ToRing).
// Local. The numbers are rounded to fraction_bits; the result has the shape `shape`.
Shared NumberOfClass(Engine& engine, const Shared& below, Shape shape,
                     std::span<const double> classes, int fraction_bits);

// The powers 2^least, .., 2^most that entries lie below, as ring elements: MagnitudesOf and ToRing.
struct SizeClasses {
  Shared below;
  Shape shape;
  int least = 0, most = 0;
};
SizeClasses SizesOf(Engine& engine, const Shared& values, int least, int most);
// 2^(times e) of entries from 2^(e - 1) on and below 2^e, with least < e <= most + 1, rounded to
// fraction_bits; of smaller ones 0, of others that of most + 1. Local.
Shared PowerOfSize(Engine& engine, const SizeClasses& sizes, double times, int fraction_bits);

}  // namespace partita::mpc
