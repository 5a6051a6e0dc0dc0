// Bounds of a probability from counts that hold with certainty about the error rate: Clopper &
// Pearson (1934). Exact for every number of trials; no approximation of the binomial law.
#pragma once

#include <cstdint>

namespace partita::privacy {

// `hits` of `trials` independent runs.
struct Count {
  uint64_t hits = 0;
  uint64_t trials = 0;

  bool operator==(const Count&) const = default;
};

// Each is wrong with probability at most alpha:
//   lower = Beta^-1(alpha; k, m - k + 1),  0 for k = 0;
//   upper = Beta^-1(1 - alpha; k + 1, m - k),  1 for k = m.
// Widened by 1e-10, relative, for the rounding of the quantile. Throws kUsage unless hits <=
// trials, 1 <= trials and 0 < alpha < 1.
double ProportionLower(const Count& count, double alpha);
double ProportionUpper(const Count& count, double alpha);

// Rough bounds of five standard errors (Wilson), about what findings at 1e-6 take, for choosing among
// many events: with fewer an event of a few runs is chosen now and then, and bounds little. Cheap and never
// used for a finding.
double RoughLower(const Count& count);
double RoughUpper(const Count& count);

}  // namespace partita::privacy
