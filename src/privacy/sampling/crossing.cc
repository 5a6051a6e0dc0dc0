#include "privacy/sampling/crossing.h"

#include <cmath>

#include "base/error.h"

namespace partita::privacy {
namespace {

constexpr double kLargest = 0x1p1000;
constexpr double kSmallest = 0x1p-1000;

double FirstAtOrBelow(const FallingFunction& f, double level) {
  for (double x = 1; x <= kLargest; x *= 2) {
    if (f(x).upper <= level) return x;
  }
  throw Error(ErrorCode::kUsage, "no noise and no epsilon meets this privacy budget",
              "raise epsilon or delta, or use a finer grid");
}

double LastAbove(const FallingFunction& f, double level, double start) {
  for (double x = start; x >= kSmallest; x /= 2) {
    if (f(x).lower > level) return x;
  }
  return 0;
}

// Starting from 1 both ways would evaluate f at both sides of a far crossing; from above it does
// not.
double Tighten(const FallingFunction& f, double level, double upper) {
  while (upper / 2 >= kSmallest && f(upper / 2).upper <= level) upper /= 2;
  return upper;
}

}  // namespace

Bounds FindCrossing(const FallingFunction& f, double level, double relative_width) {
  double upper = Tighten(f, level, FirstAtOrBelow(f, level));
  double lower = LastAbove(f, level, upper / 2);
  while (lower > 0 && upper > lower * (1 + relative_width)) {
    const double middle = std::sqrt(lower) * std::sqrt(upper);
    if (!(middle > lower && middle < upper)) break;
    const Bounds value = f(middle);
    if (value.upper <= level) {
      upper = middle;
    } else if (value.lower > level) {
      lower = middle;
    } else {
      break;
    }
  }
  return {lower, upper};
}

}  // namespace partita::privacy
