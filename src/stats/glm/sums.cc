#include "stats/glm/sums.h"

#include <algorithm>

#include "stats/glm/fit.h"

namespace partita::stats::glm {
namespace {

constexpr double kOwnRidge = 1;

}  // namespace

PointSums SumsAt(Family family, const Rows& rows, const Eigen::VectorXd& point,
                 const Limits& limits) {
  const Eigen::Index n = rows.x.rows(), p = rows.x.cols();
  PointSums sums{Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Zero(p, p)};
  const Eigen::VectorXd eta = rows.x * point + rows.offset;
  Eigen::VectorXd weights(n), scores(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const double clamped = std::clamp(eta[i], limits.lower, limits.upper);
    sums.outside += clamped == eta[i] ? 0 : 1;
    const RowTerms terms = TermsAt(family, rows.y[i], clamped);
    weights[i] = terms.weight;
    scores[i] = terms.score;
    sums.deviance += terms.deviance;
    sums.pearson += terms.pearson;
  }
  sums.score = rows.x.transpose() * scores;
  sums.information = rows.x.transpose() * weights.asDiagonal() * rows.x;
  return sums;
}

FirstSums FirstSumsOf(Family family, const Rows& rows, const Limits& limits) {
  const Eigen::Index p = rows.x.cols();
  if (rows.x.rows() == 0) return {Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Zero(p, p)};
  const Eigen::VectorXd own = Maximise(family, rows, limits, kOwnRidge).point;
  const PointSums sums = SumsAt(family, rows, own, limits);
  Eigen::VectorXd weighted = rows.x * own + rows.offset;
  for (Eigen::Index i = 0; i < weighted.size(); ++i) {
    const double eta = std::clamp(weighted[i], limits.lower, limits.upper);
    weighted[i] = TermsAt(family, rows.y[i], eta).weight * (eta - rows.offset[i]);
  }
  return {rows.x.transpose() * weighted, sums.information, sums.pearson};
}

}  // namespace partita::stats::glm
