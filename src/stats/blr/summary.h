// What a regression from noised sums has to say, as plain data.
#pragma once

#include <string>
#include <vector>

#include "stats/blr/noise_aware.h"
#include "stats/blr/release.h"

namespace partita::stats::blr {

struct CoefficientRow {
  std::string name;  // "(Intercept)" or the feature
  double mean = 0, stddev = 0;
  Interval interval;    // central, of `level`
  double positive = 0;  // P(beta > 0 | released)
};

// In the units of the columns.
struct RegressionSummary {
  std::vector<CoefficientRow> coefficients;
  double level = 0.95;
  double residual_stddev = 0;  // sqrt of the posterior mean of the noise variance
  double num_rows = 0;
  double epsilon = 0, delta = 0;
  double noise_stddev = 0;  // of each released sum, in scaled units
  bool noise_in_intervals = true;
};
RegressionSummary Summarise(const Design& design, const NoiseDesign& noise, double num_rows,
                            const NoiseAwarePosterior& posterior, double level);
RegressionSummary Summarise(const Design& design, const NoiseDesign& noise, double num_rows,
                            const PlainPosterior& posterior, double level);

// A prediction at raw features: mean and interval of a new target, in its units.
struct Prediction {
  double mean = 0;
  Interval interval;
};
Prediction Predict(const Design& design, const NoiseAwarePosterior& posterior,
                   std::span<const double> features, double level);
Prediction Predict(const Design& design, const PlainPosterior& posterior,
                   std::span<const double> features, double level);

}  // namespace partita::stats::blr
