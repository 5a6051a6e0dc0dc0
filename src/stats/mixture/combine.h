// One estimate from several synthetic data sets.
#pragma once

#include <cstdint>
#include <span>

namespace partita::stats::mixture {

struct CombinedEstimate {
  double estimate = 0;
  double variance = 0;
  double degrees = 0;  // of freedom; infinity: normal
  double lower = 0, upper = 0;
  bool adjusted = false;  // the rule's variance was negative and was replaced
};

// The rule for fully synthetic data (Raghunathan, Reiter & Rubin 2003): with estimates q_i, their
// within-set variances u_i, means qbar and ubar and the between-set variance b of m sets,
//   T = (1 + 1/m) b - ubar,   nu = (m - 1) (1 - ubar / ((1 + 1/m) b))^2
// and qbar +- t_nu sqrt(T), with nu at least 1. T can be negative; then ubar stands in its place,
// with a normal quantile (Reiter 2002, for sets as large as the data). The rule takes for granted
// that the sets come from the posterior law of a model that is right. The mixture is an
// approximation, its variational law is too narrow, and it does not contain the privacy noise:
// coverage.h says what that costs. Throws kUsage for fewer than two sets, different lengths,
// negative variances or a level outside (0, 1).
CombinedEstimate CombineSynthetic(std::span<const double> estimates,
                                  std::span<const double> variances, double level);

}  // namespace partita::stats::mixture
