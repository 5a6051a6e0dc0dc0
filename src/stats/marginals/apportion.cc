#include "stats/marginals/apportion.h"

#include <cmath>
#include <numeric>

namespace partita::stats::marginals {

std::vector<uint32_t> Apportion(size_t total, std::span<const double> weights,
                                blr::Variates& variates) {
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const bool equal = !(sum > 0);
  if (equal) sum = static_cast<double>(weights.size());
  std::vector<uint32_t> counts(weights.size());
  // Where the running sum passes a whole number plus `start`, one is given; the last one gets what
  // rounding left.
  const double start = variates.Uniform();
  double running = 0;
  size_t given = 0, last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double weight = equal ? 1 : weights[i];
    if (!(weight > 0)) continue;
    last = i;
    running += weight / sum * static_cast<double>(total);
    const auto until = std::min(total, static_cast<size_t>(std::floor(running + start)));
    counts[i] = static_cast<uint32_t>(until - given);
    given = until;
  }
  counts[last] += static_cast<uint32_t>(total - given);
  return counts;
}

}  // namespace partita::stats::marginals
