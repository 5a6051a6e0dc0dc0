// How often credible intervals of noised regressions contain the coefficients.
#pragma once

#include <functional>
#include <vector>

#include "stats/blr/noise_aware.h"
#include "stats/blr/release.h"
#include "stats/blr/variates.h"

namespace partita::stats::blr {

struct CoverageCell {
  size_t num_rows = 0;
  size_t features = 0;
  double epsilon = 0;
};

inline constexpr double kCoverageDelta = 1e-6;
inline constexpr double kLevel = 0.95;

struct Coverage {
  size_t intervals = 0;              // one per data set: coefficients of one data set depend
  size_t covered = 0;                // noise-aware
  size_t plain_covered = 0;          // noise left out
  double width_ratio = 0;            // mean noise-aware width over mean width without noise
  double seconds_per_posterior = 0;  // of one core
};

// Data sets whose parameters AND X'X come from the prior of `estimator`; statistics drawn from
// their exact law given X'X, so no row is clipped. One coefficient per data set is looked at, in
// turn. `fit` is the estimator under test.
using Estimator =
    std::function<NoiseAwarePosterior(const Statistics&, double variance, const NoiseAwarePrior&,
                                      const NoiseAwareOptions&, crypto::RandomSource&)>;
Coverage CoverageOfPrior(const CoverageCell& cell, const NoiseAwarePrior& prior, size_t data_sets,
                         const NoiseAwareOptions& options, const Estimator& fit, uint64_t seed);

// The same with rows: features N(0, sd^2) with correlation 0.3, fixed coefficients and noise, every
// row scaled to the bounds and clipped.
struct FixedTruth {
  std::vector<double> coefficients;
  double feature_stddev = 0.2;
  double noise_stddev = 0.15;
};
Coverage CoverageOfTruth(const CoverageCell& cell, const FixedTruth& truth,
                         const NoiseAwarePrior& prior, size_t data_sets,
                         const NoiseAwareOptions& options, uint64_t seed,
                         double* clipped_fraction = nullptr);

// The largest distance of a count from trials * probability that chance exceeds with at most
// `alarm` (two sides), by the exact binomial law: [lower, upper] of the count.
struct CountRange {
  size_t lower = 0, upper = 0;
};
CountRange BinomialRange(size_t trials, double probability, double alarm);

}  // namespace partita::stats::blr
