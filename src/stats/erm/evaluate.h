// How good a classifier is on rows with known labels: error, ROC, calibration.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "stats/erm/minimize.h"

namespace partita::stats::erm {

// Share of rows with sign(w'x) != y; a score of 0 counts as wrong.
double ErrorRate(const LabelledRows& rows, const Eigen::VectorXd& w);
// Mean of ln(1 + exp(-y w'x)).
double LogLoss(const LabelledRows& rows, const Eigen::VectorXd& w);

struct RocPoint {
  double threshold = 0;  // a row is called positive if its score is at least this
  double false_positive = 0, true_positive = 0;
};
// From (0, 0) to (1, 1), one point per distinct score. Throws kBadData unless both labels occur.
std::vector<RocPoint> RocCurve(const Eigen::VectorXd& scores, const Eigen::VectorXd& labels);
// The area: the chance that a positive row scores above a negative one, ties counting half.
double RocArea(const Eigen::VectorXd& scores, const Eigen::VectorXd& labels);

struct CalibrationBin {
  size_t rows = 0;
  double mean_predicted = 0, share_positive = 0;
};
// Predicted probabilities 1/(1 + exp(-score)) in `bins` groups of nearly equal size.
std::vector<CalibrationBin> Calibration(const Eigen::VectorXd& scores,
                                        const Eigen::VectorXd& labels, size_t bins);

}  // namespace partita::stats::erm
