#include "stats/tables/ranks.h"

#include <numeric>

namespace partita::stats::tables {

std::optional<double> KruskalWallis(const std::vector<std::vector<uint64_t>>& counts) {
  if (counts.empty()) return std::nullopt;
  const size_t groups = counts.front().size();
  std::vector<long double> ranks(groups), sizes(groups);
  long double below = 0, ties = 0;
  for (const std::vector<uint64_t>& cell : counts) {
    const auto tied =
        static_cast<long double>(std::accumulate(cell.begin(), cell.end(), uint64_t{0}));
    const long double rank = below + (tied + 1) / 2;
    for (size_t g = 0; g < groups; ++g) {
      ranks[g] += rank * static_cast<long double>(cell[g]);
      sizes[g] += static_cast<long double>(cell[g]);
    }
    ties += tied * tied * tied - tied;
    below += tied;
  }
  const long double n = below, all = n * n * n - n;
  if (ties >= all) return std::nullopt;
  long double spread = 0;
  for (size_t g = 0; g < groups; ++g) {
    if (sizes[g] == 0) continue;
    const long double away = ranks[g] / sizes[g] - (n + 1) / 2;
    spread += sizes[g] * away * away;
  }
  return static_cast<double>(12 * spread / (n * (n + 1)) / (1 - ties / all));
}

}  // namespace partita::stats::tables
