#include "methods/mcmc/meta_analysis.h"

#include <algorithm>
#include <cmath>

namespace partita::methods::mcmc {

PooledEstimate PoolEstimates(const std::vector<double>& estimates,
                             const std::vector<double>& standard_errors) {
  const auto weight = [&](size_t k, double tau_squared) {
    return 1 / (standard_errors[k] * standard_errors[k] + tau_squared);
  };
  double w_sum = 0, wb = 0, wbb = 0, ww = 0;
  for (size_t k = 0; k < estimates.size(); ++k) {
    const double w = weight(k, 0), b = estimates[k];
    w_sum += w;
    wb += w * b;
    wbb += w * b * b;
    ww += w * w;
  }
  PooledEstimate pooled;
  pooled.fixed = wb / w_sum;
  pooled.fixed_error = std::sqrt(1 / w_sum);
  const auto freedom = static_cast<double>(estimates.size() - 1);
  pooled.q = std::max(0.0, wbb - wb * wb / w_sum);
  pooled.tau_squared = std::max(0.0, (pooled.q - freedom) / (w_sum - ww / w_sum));
  pooled.i_squared = pooled.q > freedom ? (pooled.q - freedom) / pooled.q : 0;
  double total = 0, weighted = 0;
  for (size_t k = 0; k < estimates.size(); ++k) {
    total += weight(k, pooled.tau_squared);
    weighted += weight(k, pooled.tau_squared) * estimates[k];
  }
  pooled.random = weighted / total;
  pooled.random_error = std::sqrt(1 / total);
  return pooled;
}

}  // namespace partita::methods::mcmc
