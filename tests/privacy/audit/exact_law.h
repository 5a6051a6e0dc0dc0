// Noise on the integers by its masses: no statistics, no runs. What a mechanism adds is compared
// with the same shifted, and the exact delta and the largest loss come out as intervals.
//
// Doubles with directed rounding on top of MPFR: every number here is a bound. For scales up to
// about 2^12; the accountants reach further (accounting/mechanism.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "privacy/sampling/calibrate.h"
#include "privacy/sampling/discrete_laplace.h"
#include "privacy/sampling/grid_variance.h"

namespace partita::privacy {

struct IntegerLaw {
  int64_t first = 0;
  std::vector<Bounds> masses;  // of first, first + 1, ..
  double outside = 0;          // at most this much lies elsewhere
};

// exp(-k^2 / (2 s)) and exp(-|k| / t), until less than 2^-200 is outside (2^-100 for Laplace).
// Throw kUsage above sigma or t = 4096.
IntegerLaw DiscreteGaussianLaw(const GridVariance& variance);
IntegerLaw DiscreteLaplaceLaw(const GridScale& scale);

// counts[i] of their sum: from the enumeration of every tape of a mechanism.
IntegerLaw LawOfCounts(int64_t first, std::span<const uint64_t> counts);

// Of the sum of independent variables.
IntegerLaw SumOfLaws(const IntegerLaw& a, const IntegerLaw& b);

// Contains sum_k max(0, P(k) - e^eps Q(k)), P the law shifted up by `shift` (down if negative) and
// Q the law itself. Throws kUsage unless epsilon >= 0.
Bounds ExactDelta(const IntegerLaw& p, const IntegerLaw& q, int64_t shift, double epsilon);

// A lower bound of max_k |ln P(k)/Q(k)| over outputs inside both windows: infinite if one law
// certainly cannot put out what the other does.
double LargestLoss(const IntegerLaw& p, const IntegerLaw& q, int64_t shift);

}  // namespace partita::privacy
