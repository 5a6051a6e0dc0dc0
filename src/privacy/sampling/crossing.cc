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

// Of a curve through both ends that is a straight line in logarithms; 0 if there is none.
double Guess(double lower, double upper, double f_lower, double f_upper, double level) {
  const double fall = std::log(f_lower) - std::log(f_upper);
  if (!(fall > 0) || !std::isfinite(fall)) return 0;
  const double share = (std::log(f_lower) - std::log(level)) / fall;
  return std::exp(std::log(lower) + share * (std::log(upper) - std::log(lower)));
}

}  // namespace

Bounds FindCrossing(const FallingFunction& f, double level, double relative_width) {
  double upper = Tighten(f, level, FirstAtOrBelow(f, level));
  double lower = LastAbove(f, level, upper / 2);
  if (lower == 0) return {lower, upper};
  double f_lower = f(lower).lower, f_upper = f(upper).upper;
  // Two steps close to where the crossing seems to be, one on either side of it, then a half.
  double margin = relative_width / 4;
  const double sides[] = {1, -1, 0};
  for (int step = 0; upper > lower * (1 + relative_width); ++step) {
    const double guess = Guess(lower, upper, f_lower, f_upper, level);
    const double near = guess * (1 + sides[step % 3] * margin);
    const bool halves = step % 3 == 2 || !(near > lower && near < upper);
    const double next = halves ? std::sqrt(lower) * std::sqrt(upper) : near;
    if (!(next > lower && next < upper)) break;
    const Bounds value = f(next);
    if (value.upper <= level) {
      upper = next;
      f_upper = value.upper;
    } else if (value.lower > level) {
      lower = next;
      f_lower = value.lower;
    } else if (halves) {
      break;
    } else {
      margin *= 2;
    }
  }
  return {lower, upper};
}

}  // namespace partita::privacy
