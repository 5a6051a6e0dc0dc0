// Outcomes of more than two levels: one classifier for each level against all others.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "stats/erm/minimize.h"

namespace partita::stats::erm {

struct LevelRows {
  Eigen::MatrixXd x;          // N by d
  std::vector<size_t> level;  // N, each below `levels`
  size_t levels = 0;          // two or more
};

// Throws kBadData for levels out of range or sizes that differ, kUsage for fewer than two levels.
void CheckLevels(const LevelRows& rows);

// Label 1 for this level, -1 for all others.
LabelledRows OneAgainstRest(const LevelRows& rows, size_t level);

// The level of the largest score; of equal ones the first.
std::vector<size_t> PredictLevels(const Eigen::MatrixXd& x, const Eigen::MatrixXd& w);

// L by L: rows of true level i that were called j.
Eigen::MatrixXd ConfusionOfLevels(const LevelRows& rows, const Eigen::MatrixXd& w);

}  // namespace partita::stats::erm
