#include "stats/sem/column_frame.h"

#include "stats/sem/linear_form.h"

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

FeatureFrame PublicFrame(const StatisticsScale& scale) {
  return {scale.centre, MatrixXd(scale.half_width.asDiagonal())};
}

MatrixXd ChangeOfFrame(const FeatureFrame& to, const FeatureFrame& from) {
  const auto root = to.root.triangularView<Eigen::Lower>();
  const VectorXd shift = root.solve(from.mean - to.mean);
  const MatrixXd turn = root.solve(from.root);
  const Index p = shift.size();
  std::vector<LinearForm> forms;
  for (Index i = 0; i < p; ++i) forms.push_back({shift[i], turn.row(i).transpose()});
  MatrixXd change = MatrixXd::Zero(NumFeatures(p), NumFeatures(p));
  change(0, 0) = 1;
  for (Index i = 0, at = 1 + p; i < p; ++i) {
    const LinearForm& form = forms[static_cast<std::size_t>(i)];
    change.row(1 + i) = AsFeatures(form);
    for (Index j = i; j < p; ++j, ++at) {
      change.row(at) = Multiply(form, forms[static_cast<std::size_t>(j)]);
    }
  }
  return change;
}

MatrixXd ColumnScoreMap(const ScorePoint& point, std::size_t group) {
  return ScoreMap(point, group) * ChangeOfFrame(FrameOf(point, group), ColumnFrameOf(point, group));
}

}  // namespace partita::stats
