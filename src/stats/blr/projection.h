// Projection of the rows to tighter bounds (Heikkila et al. 2017, Algorithm 2): a part of the
// budget buys marginal standard deviations, thresholds are multiples of these, and the rest of the
// budget pays for statistics whose sensitivity has shrunk.
//
// Corrected against the released code (methods.md, 2): every square is in [0, 1] scaled units, so
// the noise of the second moments is sized by sqrt(d + 1) and not seven times less; the search uses
// the budget share and the sensitivity that the statistics will have.
// The two releases compose by addition of their epsilons and deltas, the second being adaptive.
#pragma once

#include <span>
#include <vector>

#include "crypto/random.h"
#include "stats/blr/release.h"
#include "stats/blr/statistics.h"

namespace partita::stats::blr {

struct BudgetSplit {
  NoiseRequest first, second;  // epsilon and delta shared out; sharing and kind as they were
};
// `share` of the budget goes to the first release; 0 < share < 1, else kUsage.
BudgetSplit SplitBudget(const NoiseRequest& budget, double share);

// Standard deviations (around the centre) of the columns, the target last, in raw units, from
// noised sums of squares. A mean square below `floor` (scaled units) becomes the floor.
std::vector<double> MarginalStddevs(const Design& design, std::span<const Int128> noised_squares,
                                    size_t num_rows, double floor = 1e-3);

// Multiples of the marginal standard deviations.
struct Thresholds {
  double features = 0, target = 0;
  double expected_error = 0;  // mean absolute error on the auxiliary data, averaged
};

// Bounds omega * sd, never wider than the design's own.
Design ProjectedDesign(const Design& design, std::span<const double> stddevs,
                       const Thresholds& thresholds);

struct ThresholdSearch {
  size_t num_rows = 0, features = 0;  // of the data that will be projected
  double slope_variance = 1;          // of the auxiliary coefficients and of the prior that is used
  double noise_variance = 1;          // of the auxiliary target
  double lowest = 0.1, highest = 2.1;  // of the grid, in standard deviations
  size_t grid = 20;
  size_t data_sets = 5, noise_draws = 4;
};

// The grid search of the paper on auxiliary data, eqs. (4)-(6): x ~ N(0, I), beta ~ N(0, l I),
// y | x ~ N(x beta, s2), one threshold for all features and one for the target; `statistics` is the
// budget share of the second release. The error of an estimate on new auxiliary rows is exactly
// sqrt(2 / pi) sqrt(s2 + |estimate - beta|^2), so none are drawn. The same noise serves the whole
// grid, so that thresholds are compared and not draws.
Thresholds SearchThresholds(const ThresholdSearch& search, const NoiseRequest& statistics,
                            crypto::RandomSource& source);

}  // namespace partita::stats::blr
