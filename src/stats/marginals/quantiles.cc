#include "stats/marginals/quantiles.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace partita::stats::marginals {
namespace {

constexpr double kTwoSided = 1.959963984540054;  // of the normal law, for kQuantileLevel

}  // namespace

QuantileLevels QuantileOf(std::span<const double> counts, double noise_stddev, double probability) {
  if (counts.empty() || !(noise_stddev >= 0) || !(probability > 0 && probability < 1)) {
    throw Error(ErrorCode::kUsage, "A quantile needs counts, and a probability within (0, 1)", "");
  }
  const size_t size = counts.size();
  const double q = probability, total = std::accumulate(counts.begin(), counts.end(), 0.0);
  std::vector<double> excess = {-q * total}, reach;
  for (const double count : counts) excess.push_back(excess.back() + count);
  for (size_t k = 0; k <= size; ++k) {
    const auto below = static_cast<double>(k), above = static_cast<double>(size - k);
    reach.push_back(kTwoSided * noise_stddev *
                    std::sqrt(below * (1 - q) * (1 - q) + above * q * q));
  }
  QuantileLevels levels;
  while (levels.first + 1 < size && excess[levels.first + 1] + reach[levels.first + 1] < 0)
    ++levels.first;
  levels.last = size - 1;
  while (levels.last > 0 && excess[levels.last] - reach[levels.last] > 0) --levels.last;
  // Where noise makes the cumulated counts cross more than once, the first crossing.
  while (levels.middle + 1 < size && excess[levels.middle + 1] < 0) ++levels.middle;
  levels.middle = std::clamp(levels.middle, std::min(levels.first, levels.last),
                             std::max(levels.first, levels.last));
  levels.last = std::max(levels.first, levels.last);
  const double before = excess[levels.middle], count = counts[levels.middle];
  if (count > 0) levels.within = std::clamp(-before / count, 0.0, 1.0);
  return levels;
}

}  // namespace partita::stats::marginals
