#include "methods/classify/level_descents.h"

namespace partita::methods::classify {

using stats::erm::LabelledRows;

DescentTask AllLevels(const DescentTask& task, size_t levels) {
  DescentTask all = task;
  all.options.iterations *= levels;
  return all;
}

Eigen::MatrixXd RunLevelDescents(mpc::Engine& engine, const DescentTask& task, size_t levels,
                                 const NoisedSum& sum,
                                 const std::optional<stats::erm::LevelRows>& rows,
                                 crypto::RandomSource& random, Progress& progress) {
  if (rows) stats::erm::CheckLevels(*rows);
  Eigen::MatrixXd w(static_cast<Eigen::Index>(task.dimension), static_cast<Eigen::Index>(levels));
  for (size_t level = 0; level < levels; ++level) {
    std::optional<LabelledRows> own;
    if (rows) own = stats::erm::OneAgainstRest(*rows, level);
    const Eigen::VectorXd column = RunDescent(engine, task, sum, own, random, progress);
    if (column.size() > 0) w.col(static_cast<Eigen::Index>(level)) = column;
  }
  return engine.self() ? w : Eigen::MatrixXd();
}

}  // namespace partita::methods::classify
