// Whole numbers in given proportions, as rows are drawn: never further than one from the proportion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stats/blr/variates.h"

namespace partita::stats::marginals {

// Counts with the sum `total` and the means total * weights / sum(weights): the parts below one are
// drawn together by systematic sampling (one uniform number). Weights >= 0; if all are 0, equal.
std::vector<uint32_t> Apportion(size_t total, std::span<const double> weights,
                                blr::Variates& variates);

template <typename T>
void Shuffle(std::span<T> values, blr::Variates& variates) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[variates.Below(i)]);
}

}  // namespace partita::stats::marginals
