// Private moments in the clear: exact moments and what all parties draw, added up number by number.
#pragma once

#include <vector>

#include "methods/mle/moments/pooled_moments.h"
#include "methods/mle/moments/private_moments.h"

namespace partita::methods::mle::testing {

// exact: of the cells that are released. shares: of every computing party.
inline std::vector<NoisedMoments> AddNoiseInTheClear(
    const MomentsTask& task, const std::vector<IntegerMoments>& exact, const PrivateMoments& design,
    const std::vector<std::vector<Int128>>& shares) {
  const size_t p = task.num_variables;
  size_t at = 0;
  const auto noised = [&](Int128 number) {
    for (const std::vector<Int128>& share : shares) number += share.at(at);
    ++at;
    return number;
  };
  std::vector<NoisedMoments> cells;
  for (const IntegerMoments& cell : exact) {
    NoisedMoments moments{0, std::vector<Int128>(p), std::vector<Int128>(p * p)};
    moments.count = design.public_count ? cell.n : noised(cell.n << (2 * kPrivateFractionBits));
    for (size_t v : design.release.variables)
      moments.sum[v] = noised(cell.sum[v] * (Int128{1} << kPrivateFractionBits));
    for (const auto& [a, b] : design.release.pairs)
      moments.cross[a * p + b] = moments.cross[b * p + a] = noised(cell.cross[a * p + b]);
    cells.push_back(std::move(moments));
  }
  return cells;
}

}  // namespace partita::methods::mle::testing
