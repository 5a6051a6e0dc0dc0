// Quantiles of samples.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/error.h"

namespace partita::stats {

// Linear interpolation between order statistics: R's default, type 7 of Hyndman & Fan (1996).
// probability: from 0 to 1. Throws kInternal if there are no values.
inline double Quantile(std::vector<double> values, double probability) {
  if (values.empty()) throw Error(ErrorCode::kInternal, "no values have no quantile");
  std::sort(values.begin(), values.end());
  const double position = probability * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace partita::stats
