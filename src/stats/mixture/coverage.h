// How often intervals of a regression, computed from synthetic data, contain the truth: the shipped
// simulation that goes with every combining rule (methods.md, 4.6).
//
// Each replicate draws x ~ N(0, 1) and y = slope x + N(0, 1 - slope^2), n rows, both of public
// bounds +-4 (values beyond are moved to them), fits the mixture by DPVI, draws m synthetic data
// sets of n rows, each from its own posterior draw of the parameters, and regresses y on x in each.
// The law is not one of the mixtures that are fitted, as real data's never is.
#pragma once

#include <cstdint>

#include "base/progress.h"
#include "crypto/random.h"
#include "stats/mixture/dpvi.h"

namespace partita::stats::mixture {

struct CoverageOptions {
  size_t replicates = 200;
  uint32_t rows = 1000;
  size_t sets = 10;
  double slope = 0.5;
  double level = 0.95;
  size_t components = 8;
  uint32_t batch_size = 100;
  ClippedNoise noise = {1, 0, 30};
  // As in VariationalOptions.
  uint64_t steps = 3000;
  double learning_rate = 0.03;
};

struct IntervalCoverage {
  double share = 0;  // of replicates whose interval contains the slope
  double mean_width = 0;
  double mean_estimate = 0;
};

struct Coverage {
  IntervalCoverage real;      // from the real rows: what there is to lose
  IntervalCoverage single;    // one synthetic data set taken for real
  IntervalCoverage combined;  // CombineSynthetic over all sets
  size_t adjusted = 0;        // replicates in which the rule's variance was negative
};

Coverage SimulateCoverage(const CoverageOptions& options, crypto::RandomSource& source,
                          Progress& progress);

}  // namespace partita::stats::mixture
