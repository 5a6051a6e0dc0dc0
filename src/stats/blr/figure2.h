// The experiment of Heikkila et al. (NIPS 2017), Figure 2: prediction error of private linear
// regressions on three public tables, and the factor of Figure 1b.
//
// Protocol of the paper, sound where its code was not (methods.md, 2): all columns are centred and
// scaled to a range of 10, without privacy, before anything else; the assumed bounds are +-7.5 and
// rows ARE clipped to them; sensitivities are proved (sensitivity.h); noise is exact and
// analytically calibrated. 25 splits into training and test rows, 20 noise draws each. Estimates of
// the baselines: prior beta ~ N(0, I), noise variance 1, |eigenvalues| as repair.
#pragma once

#include <Eigen/Core>
#include <span>
#include <string>
#include <vector>

#include "base/progress.h"
#include "crypto/random.h"
#include "stats/blr/noise_aware.h"
#include "stats/blr/projection.h"

namespace partita::stats::blr {

// Rows by columns, the target last.
struct Table {
  std::string name;
  Eigen::MatrixXd values;
  size_t train = 0, test = 0;  // rows of each split
};

// Centred, with the range 10 in every column. Throws kBadData for a constant column.
Eigen::MatrixXd ScaleToRange(const Eigen::MatrixXd& values);

// Row numbers of one split: the first `train` are training rows, the rest are test rows.
using Split = std::vector<size_t>;
// Random rows without replacement.
Split DrawSplit(size_t num_rows, size_t size, crypto::RandomSource& source);

enum class Figure2Method {
  kMean,         // predicts the mean always
  kNonPrivate,   // NP
  kTrusted,      // TA
  kDistributed,  // DDP, no colluders: n/(n - 1) times the variance
  kInputPerturbed,
  kProjectedNonPrivate,  // the rows of proj TA, no noise on the statistics
  kProjectedTrusted,
  kProjectedDistributed,
  kProjectedInputPerturbed,
  kNoiseAware,            // the default estimator on the statistics of kTrusted
  kNoiseAwareDistributed  // on those of kDistributed
};
const char* Figure2MethodName(Figure2Method method);
const std::vector<Figure2Method>& AllFigure2Methods();

struct Figure2Options {
  std::vector<double> epsilons;  // empty: the six of the figure
  double delta = 1e-4;
  double bound = 7.5;        // assumed, of every scaled column
  double first_share = 0.3;  // of the budget, for the standard deviations
  size_t noise_draws = 20;
  std::vector<Figure2Method> methods;  // empty: all
  // Thresholds per epsilon instead of the search.
  std::vector<Thresholds> thresholds;
  NoiseAwareOptions noise_aware = {100, 200, 1};
};
std::vector<double> Figure2Epsilons();

// Errors of one method at one epsilon: one line per split, one entry per noise draw (one for
// methods without noise).
struct Figure2Cell {
  std::string table;
  double epsilon = 0;
  Figure2Method method = Figure2Method::kMean;
  std::vector<std::vector<double>> errors;  // mean absolute error on the test rows
  std::vector<std::vector<double>> rmse;    // of the coefficients, against NP's
  double mean_width = 0;                    // of 95 % intervals; 0: not defined
  Thresholds thresholds;                    // of projected methods
};

// All draws of a method pair with the same draws of the others: DDP adds further noise to TA's.
std::vector<Figure2Cell> RunFigure2(const Table& table, std::span<const Split> splits,
                                    const Figure2Options& options, crypto::RandomSource& source,
                                    Progress& progress);

// Of all errors of a cell.
double MedianError(const Figure2Cell& cell);

// A percentile bootstrap of the ratio of medians (numerator over denominator): splits are drawn
// with replacement, then draws within a split; the same ones for both, as they are paired.
struct RatioInterval {
  double ratio = 0, lower = 0, upper = 0;
};
RatioInterval MedianRatio(const Figure2Cell& numerator, const Figure2Cell& denominator,
                          double level, size_t replicates, crypto::RandomSource& source);
// Against a fixed number.
RatioInterval MedianRatio(const Figure2Cell& numerator, double denominator, double level,
                          size_t replicates, crypto::RandomSource& source);

// Figure 1b: how much more variance the sum carries than a trusted aggregator's, n / (n - T - 1)
// (Theorem 1); n from T + 2 to 100, T = 0, 5, 10.
struct Figure1bPoint {
  size_t clients = 0, colluding = 0;
  double variance_factor = 0;
};
std::vector<Figure1bPoint> Figure1b();

}  // namespace partita::stats::blr
