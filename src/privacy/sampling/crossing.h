// Where a falling function of a positive number crosses a level, bracketed.
#pragma once

#include <functional>

#include "privacy/sampling/calibrate.h"

namespace partita::privacy {

// f(x) as an interval that contains the true value; the true f falls on (0, infinity).
using FallingFunction = std::function<Bounds(double x)>;

// lower: f(lower) > level for certain (or 0). upper: f(upper) <= level for certain. Narrowed until
// upper / lower <= 1 + relative_width, or until the intervals of f do not decide. Throws kUsage if
// f stays above the level up to 2^1000.
Bounds FindCrossing(const FallingFunction& f, double level, double relative_width);

}  // namespace partita::privacy
