// How good a classifier is on rows with known labels: error and ROC.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "stats/erm/minimize.h"

namespace partita::stats::erm {

// Share of rows with sign(w'x) != y; a score of 0 counts as wrong.
double ErrorRate(const LabelledRows& rows, const Eigen::VectorXd& w);

struct RocPoint {
  double threshold = 0;  // a row is called positive if its score is at least this
  double false_positive = 0, true_positive = 0;
};
// From (0, 0) to (1, 1), one point per distinct score. Throws kBadData unless both labels occur.
std::vector<RocPoint> RocCurve(const Eigen::VectorXd& scores, const Eigen::VectorXd& labels);

}  // namespace partita::stats::erm
