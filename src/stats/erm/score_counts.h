// How good a classifier is, from counts of test rows by predicted probability and label: what can
// be released with noise, and is enough for error rates, ROC curve, its area and calibration.
//
// Counts may carry noise: they are then real numbers, also below 0. Standard errors contain the
// sampling of the test rows and, for counts with noise, the noise (first order, independent noise
// in every count).
#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "stats/erm/evaluate.h"

namespace partita::stats::erm {

// Bin b holds predicted probabilities in [b / B, (b + 1) / B); the last one also 1.
struct ScoreCounts {
  std::vector<double> positive, negative;  // B each
  double noise_stddev = 0;                 // of every count
};

// Whole numbers. Labels -1 and 1; scores are w'x, the probability 1/(1 + exp(-score)). Throws
// kUsage for an odd number of bins or none, so that 1/2 is always an edge.
ScoreCounts CountScores(const Eigen::VectorXd& scores, const Eigen::VectorXd& labels, size_t bins);

struct Estimate {
  double value = 0, standard_error = 0;
};

// At a predicted probability of 1/2.
struct Confusion {
  double true_positive = 0, false_positive = 0, true_negative = 0, false_negative = 0;
};

struct CountedEvaluation {
  double positives = 0, negatives = 0;  // rows with each label, with the noise
  Confusion confusion;
  Estimate accuracy, sensitivity, specificity;
  std::vector<RocPoint> roc;  // by falling threshold, clamped to [0, 1]; not smoothed
  Estimate area;              // rows of one bin count as ties
  // What the area could be if rows of a bin were ordered: the price of bins, without noise.
  double area_lowest = 0, area_highest = 1;
  struct Bin {
    double lower = 0, upper = 1;  // predicted probability
    double rows = 0;
    Estimate share_positive;
  };
  std::vector<Bin> calibration;  // bins with fewer rows than four noise deviations are left out
};

// Empty where the noise hides the rows: fewer than four standard deviations of their sum of rows
// with one of the labels. Throws kUsage for counts of different or odd sizes.
std::optional<CountedEvaluation> EvaluateCounts(const ScoreCounts& counts);

}  // namespace partita::stats::erm
