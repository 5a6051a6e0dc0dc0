#include "stats/glm/multinomial.h"

#include <algorithm>
#include <cmath>

namespace partita::stats::glm {

using Eigen::Index;
using Eigen::MatrixXd;

PointSums MultinomialSums(const Law& law, const Rows& rows, const Eigen::VectorXd& point,
                          const Limits& limits) {
  const Index p = rows.x.cols(), n = rows.x.rows(), more = static_cast<Index>(law.classes) - 1;
  PointSums sums{Eigen::VectorXd(p * more), MatrixXd(p * more, p * more)};
  const MatrixXd eta = rows.x * Eigen::Map<const MatrixXd>(point.data(), p, more);
  const MatrixXd clamped = eta.cwiseMax(limits.lower).cwiseMin(limits.upper);
  MatrixXd mean(n, more), residual(n, more);
  for (Index i = 0; i < n; ++i) {
    const double w = rows.weight(i);
    const auto k = static_cast<Index>(rows.y[i]);
    const double most = std::max(0.0, clamped.row(i).maxCoeff());
    const Eigen::RowVectorXd odds = (clamped.row(i).array() - most).exp();
    const double all = std::exp(-most) + odds.sum();
    mean.row(i) = odds / all;
    residual.row(i) = -w * mean.row(i);
    if (k > 0) residual(i, k - 1) += w;
    sums.deviance += 2 * w * (most + std::log(all) - (k > 0 ? clamped(i, k - 1) : 0));
    sums.outside += clamped.row(i) == eta.row(i) ? 0 : 1;
  }
  for (Index a = 0; a < more; ++a) {
    sums.score.segment(p * a, p) = rows.x.transpose() * residual.col(a);
    for (Index b = 0; b <= a; ++b) {
      Eigen::VectorXd weights = -mean.col(a).cwiseProduct(mean.col(b));
      if (a == b) weights += mean.col(a);
      for (Index i = 0; i < n; ++i) weights[i] *= rows.weight(i);
      const MatrixXd block = rows.x.transpose() * weights.asDiagonal() * rows.x;
      sums.information.block(p * a, p * b, p, p) = block;
      sums.information.block(p * b, p * a, p, p) = block;
    }
  }
  return sums;
}

RowScore MultinomialScore(const Law& law, const Rows& rows, const Eigen::VectorXd& point,
                          const Limits& limits) {
  const Index p = rows.x.cols(), more = static_cast<Index>(law.classes) - 1;
  const MatrixXd eta = (rows.x * Eigen::Map<const MatrixXd>(point.data(), p, more))
                           .cwiseMax(limits.lower)
                           .cwiseMin(limits.upper);
  return [eta, p, more, &rows](Index i, Eigen::VectorXd& score) {
    const auto k = static_cast<Index>(rows.y[i]);
    const double most = std::max(0.0, eta.row(i).maxCoeff());
    const Eigen::RowVectorXd odds = (eta.row(i).array() - most).exp();
    const double all = std::exp(-most) + odds.sum();
    for (Index a = 0; a < more; ++a) {
      const double residual = (k == a + 1 ? 1 : 0) - odds[a] / all;
      score.segment(p * a, p) = residual * rows.x.row(i).transpose();
    }
    return all / (k > 0 ? odds[k - 1] : std::exp(-most)) - 1;
  };
}

}  // namespace partita::stats::glm
