#include "methods/classify/poisson_batch.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace partita::methods::classify {

using Eigen::Index;

std::vector<Index> DrawPoissonBatch(Index rows, double rate, crypto::RandomSource& random) {
  std::vector<Index> batch;
  if (rate >= 1) {
    batch.resize(static_cast<size_t>(rows));
    std::iota(batch.begin(), batch.end(), Index{0});
    return batch;
  }
  const auto threshold = static_cast<uint64_t>(std::ldexp(rate, 64));
  const auto first = static_cast<uint8_t>(threshold >> 56);
  const uint64_t rest = threshold & ((uint64_t{1} << 56) - 1);
  std::vector<uint8_t> coins(static_cast<size_t>(rows));
  random.Fill(coins);
  for (Index i = 0; i < rows; ++i) {
    const uint8_t coin = coins[static_cast<size_t>(i)];
    if (coin > first) continue;
    if (coin == first) {
      std::array<uint8_t, 7> more{};
      random.Fill(more);
      uint64_t tail = 0;
      for (const uint8_t byte : more) tail = (tail << 8) | byte;
      if (tail >= rest) continue;
    }
    batch.push_back(i);
  }
  return batch;
}

}  // namespace partita::methods::classify
