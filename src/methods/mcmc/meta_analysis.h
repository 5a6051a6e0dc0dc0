// Two-stage meta-analysis in the clear: what registries would find that each fit their own rows, beside
// the one-stage fit of a chain (registries.h).
//
// Estimates b_k with standard errors s_k of one coefficient at each of m sites.
//   Fixed effect     w = 1 / s^2: sum w b / sum w, with Cochran's Q, I^2, and tau^2 by DerSimonian &
//                    Laird (Controlled Clinical Trials 1986).
//   Random effects   w* = 1 / (s^2 + tau^2).
#pragma once

#include <vector>

namespace partita::methods::mcmc {

struct PooledEstimate {
  double fixed = 0, fixed_error = 0;
  double random = 0, random_error = 0;
  double q = 0, tau_squared = 0, i_squared = 0;  // i_squared in [0, 1)
};

// Equally many of both, two at least; errors positive.
PooledEstimate PoolEstimates(const std::vector<double>& estimates,
                             const std::vector<double>& standard_errors);

}  // namespace partita::methods::mcmc
