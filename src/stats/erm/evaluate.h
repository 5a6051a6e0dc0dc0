// How good a classifier is on rows with known labels.
#pragma once

#include <Eigen/Core>

#include "stats/erm/minimize.h"

namespace partita::stats::erm {

// Share of rows with sign(w'x) != y; a score of 0 counts as wrong.
double ErrorRate(const LabelledRows& rows, const Eigen::VectorXd& w);

struct RocPoint {
  double threshold = 0;  // a row is called positive if its score is at least this
  double false_positive = 0, true_positive = 0;
};

}  // namespace partita::stats::erm
