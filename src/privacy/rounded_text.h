// Numbers of a guarantee as decimals that never claim too much: what is printed is compared with
// the double exactly, not with what it was rounded to.
//
// An upper bound (epsilon, delta, a sensitivity, a share of right guesses) is printed rounded up, a
// lower bound and the size of a noise down. JSON has the double itself, in the shortest decimal
// that reads as it.
#pragma once

#include <cstdint>
#include <string>

namespace partita::privacy {

// 1 to 15 significant digits in the style of %g: up, the smallest such decimal that is not below
// the value, down, the largest that is not above it. "infinite" for infinity; throws kInternal for
// NaN. (statement.h declares it too.)
std::string RoundedText(double value, int digits, bool up);

// A share within [0, 1] in percent, with so many decimals, in the same way: "12.3 %". The error of
// its own subtraction from 1 is the caller's matter (OneMinus).
std::string PercentText(double share, int decimals, bool up);
// 1 - x, rounded up to a double; x within [0, 1].
double OneMinus(double x);
// part of whole in percent, with two decimals: "12.35 %", "0 %" for no part. whole > 0.
std::string PartText(uint64_t part, uint64_t whole, bool up);

// A parameter that somebody wrote: as written, if that takes at most `digits` digits and reads as
// the same double; else rounded as above.
std::string GivenText(double value, int digits, bool up);

// Deltas are decimals that somebody wrote, or sums of a few shares of one: their doubles may lie a
// few units of the last place above. The accountants answer for AccountedDelta, a hair less, so
// that what DeltaText prints, six digits rounded up, is not less than what was accounted.
double AccountedDelta(double delta);
std::string DeltaText(double delta);

}  // namespace partita::privacy
