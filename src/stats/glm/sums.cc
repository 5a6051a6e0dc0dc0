#include "stats/glm/sums.h"

#include <algorithm>

#include "stats/glm/fit.h"

namespace partita::stats::glm {
Rows Pooled(const std::vector<Rows>& by_holder) {
  Eigen::Index n = 0;
  for (const Rows& rows : by_holder) n += rows.x.rows();
  const bool weighted = by_holder.front().weights.size() > 0;
  Rows all{Eigen::MatrixXd(n, by_holder.front().x.cols()), Eigen::VectorXd(n), Eigen::VectorXd(n)};
  all.weights.resize(weighted ? n : 0);
  all.copies = by_holder.front().copies;
  Eigen::Index next = 0;
  uint32_t first_cluster = 0;
  for (const Rows& rows : by_holder) {
    const Eigen::Index m = rows.x.rows();
    all.x.middleRows(next, m) = rows.x;
    all.y.segment(next, m) = rows.y;
    all.offset.segment(next, m) = rows.offset;
    if (weighted) all.weights.segment(next, m) = rows.weights;
    uint32_t beyond = first_cluster;
    for (const uint32_t cluster : rows.clusters) {
      all.clusters.push_back(first_cluster + cluster);
      beyond = std::max(beyond, first_cluster + cluster + 1);
    }
    first_cluster = beyond;
    next += m;
  }
  return all;
}

PointSums SumsAt(const Law& law, const Rows& rows, const Eigen::VectorXd& point,
                 const Limits& limits) {
  const Eigen::Index n = rows.x.rows(), p = rows.x.cols();
  PointSums sums{Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Zero(p, p)};
  const Eigen::VectorXd eta = rows.x * point + rows.offset;
  Eigen::VectorXd weights(n), scores(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const double clamped = std::clamp(eta[i], limits.lower, limits.upper);
    const RowTerms terms = TermsAt(law, rows.y[i], clamped);
    const bool far = law.quasi && terms.pearson > kMostPearson;
    sums.outside += clamped == eta[i] && !far ? 0 : 1;
    const double times = rows.weight(i);
    weights[i] = times * terms.weight;
    scores[i] = times * terms.score;
    sums.deviance += times * terms.deviance;
    sums.pearson += times * (far ? kMostPearson : terms.pearson);
  }
  sums.score = rows.x.transpose() * scores;
  sums.information = rows.x.transpose() * weights.asDiagonal() * rows.x;
  return sums;
}

void AddRidge(PointSums& sums, const Eigen::VectorXd& point, const Eigen::VectorXd& ridge) {
  sums.score -= ridge.cwiseProduct(point);
  sums.information.diagonal() += ridge;
}

FirstSums FirstSumsOf(const Law& law, const Rows& rows, const Limits& limits) {
  const Eigen::Index p = rows.x.cols();
  if (rows.x.rows() == 0)
    return {Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Zero(p, p), 0, Eigen::VectorXd::Zero(p)};
  const Eigen::VectorXd own =
      Maximise(law, rows, limits, Eigen::VectorXd::Constant(p, kOwnRidge)).point;
  const PointSums sums = SumsAt(law, rows, own, limits);
  Eigen::VectorXd weighted = rows.x * own + rows.offset;
  for (Eigen::Index i = 0; i < weighted.size(); ++i) {
    const double eta = std::clamp(weighted[i], limits.lower, limits.upper);
    weighted[i] = rows.weight(i) * TermsAt(law, rows.y[i], eta).weight * (eta - rows.offset[i]);
  }
  return {rows.x.transpose() * weighted, sums.information, sums.pearson, own};
}

}  // namespace partita::stats::glm
