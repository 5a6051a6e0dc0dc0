// Quantiles of a column from its noisy counts: the level that has one, and the levels that may have
// it.
//
// With y the noisy counts of L ordered levels and D(k) = y_0 + ... + y_{k-1} - q (y_0 + ... +
// y_{L-1}), the
// q-quantile of the counted rows is in level l where the true D(l) <= 0 <= D(l + 1). D(k) has noise
// of variance
// sigma^2 (k (1-q)^2 + (L-k) q^2). Levels are kept from the first with D(l + 1) + z sd >= 0 to the
// last
// with D(l) - z sd <= 0: they have the quantile with a probability of `level` at least, over the
// noise, each side by itself. The number of
// rows is not used, so that levels may be left out (missing cells).
#pragma once

#include <cstddef>
#include <span>

namespace partita::stats::marginals {

struct QuantileLevels {
  size_t first = 0, middle = 0, last = 0;
  double within = 0.5;  // of the middle level, where the quantile is by interpolation: 0 to 1
};

// probability in (0, 1); one level or more; noise_stddev of each count.
QuantileLevels QuantileOf(std::span<const double> counts, double noise_stddev, double probability);

inline constexpr double kQuantileLevel = 0.95;

}  // namespace partita::stats::marginals
