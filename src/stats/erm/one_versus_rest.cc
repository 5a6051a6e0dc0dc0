#include "stats/erm/one_versus_rest.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace partita::stats::erm {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

void CheckLevels(const LevelRows& rows) {
  if (rows.levels < 2) throw Error(ErrorCode::kUsage, "an outcome has two levels or more");
  if (rows.x.rows() != static_cast<Index>(rows.level.size())) {
    throw Error(ErrorCode::kBadData,
                fmt::format("there are {} outcomes for {} rows", rows.level.size(), rows.x.rows()));
  }
  for (size_t i = 0; i < rows.level.size(); ++i) {
    if (rows.level[i] >= rows.levels) {
      throw Error(ErrorCode::kBadData, fmt::format("row {}: there is no such level", i + 1));
    }
  }
}

LabelledRows OneAgainstRest(const LevelRows& rows, size_t level) {
  LabelledRows binary{rows.x, VectorXd::Constant(rows.x.rows(), -1)};
  for (size_t i = 0; i < rows.level.size(); ++i) {
    if (rows.level[i] == level) binary.y(static_cast<Index>(i)) = 1;
  }
  return binary;
}

std::vector<size_t> PredictLevels(const MatrixXd& x, const MatrixXd& w) {
  const MatrixXd scores = x * w;
  std::vector<size_t> levels;
  levels.reserve(static_cast<size_t>(x.rows()));
  for (Index i = 0; i < scores.rows(); ++i) {
    Index best = 0;
    scores.row(i).maxCoeff(&best);
    levels.push_back(static_cast<size_t>(best));
  }
  return levels;
}

MatrixXd ConfusionOfLevels(const LevelRows& rows, const MatrixXd& w) {
  CheckLevels(rows);
  const auto levels = static_cast<Index>(rows.levels);
  MatrixXd table = MatrixXd::Zero(levels, levels);
  const std::vector<size_t> called = PredictLevels(rows.x, w);
  for (size_t i = 0; i < called.size(); ++i) {
    table(static_cast<Index>(rows.level[i]), static_cast<Index>(called[i])) += 1;
  }
  return table;
}

}  // namespace partita::stats::erm
