#include "stats/sem/column_frame.h"

namespace partita::stats {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

FeatureFrame ColumnFrameOf(const ScorePoint& point, std::size_t group) {
  FeatureFrame frame = FrameOf(point, group);
  const VectorXd deviations = frame.root.rowwise().norm();
  frame.root = deviations.asDiagonal();
  return frame;
}

MatrixXd ColumnScoreMap(const ScorePoint& point, std::size_t group) {
  const MatrixXd whitened = ScoreMap(point, group);
  const MatrixXd root = FrameOf(point, group).root;
  const VectorXd deviations = root.rowwise().norm();
  const MatrixXd m = root.triangularView<Eigen::Lower>().solve(MatrixXd(deviations.asDiagonal()));
  const Index p = m.rows();
  MatrixXd map = MatrixXd::Zero(whitened.rows(), whitened.cols());
  map.col(0) = whitened.col(0);
  map.middleCols(1, p) = whitened.middleCols(1, p) * m;
  // Every score's quadratic part as a symmetric matrix: r' K r = u' M' K M u.
  for (Index row = 0; row < map.rows(); ++row) {
    MatrixXd quadratic = MatrixXd::Zero(p, p);
    for (Index i = 0, at = 1 + p; i < p; ++i) {
      for (Index j = i; j < p; ++j, ++at) {
        quadratic(i, j) += whitened(row, at) / 2;
        quadratic(j, i) += whitened(row, at) / 2;
      }
    }
    map.row(row).tail(whitened.cols() - 1 - p) =
        UpperWeights(m.transpose() * quadratic * m).transpose();
  }
  return map;
}

}  // namespace partita::stats
