#include "stats/glm/sums.h"

#include <algorithm>

#include "stats/glm/fit.h"
#include "stats/glm/multinomial.h"
#include "stats/glm/negative_binomial.h"
#include "stats/glm/ordinal.h"

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
  // A negative binomial law with its theta has one linear predictor and as many numbers as columns.
  if (law.family == Family::kNegativeBinomial && point.size() > rows.x.cols())
    return NegativeBinomialSums(law, rows, point, limits);
  if (law.family == Family::kOrdinal) return OrdinalSums(law, rows, point, limits);
  if (law.family == Family::kMultinomial) return MultinomialSums(law, rows, point, limits);
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

namespace {

// Of families with more parameters than columns.
FirstSums FirstOfMore(const Law& law, const Rows& rows, const Limits& limits) {
  Eigen::VectorXd ridge = Eigen::VectorXd::Constant(
      static_cast<Eigen::Index>(NumParameters(law, static_cast<size_t>(rows.x.cols()))), kOwnRidge);
  const bool ordinal = law.family == Family::kOrdinal;
  // Cut points are kept apart by pseudo-rows instead.
  if (ordinal) ridge.tail(ridge.size() - rows.x.cols()).setZero();
  FirstSums first;
  first.own = Maximise(law, ordinal ? WithRowOfEachClass(law, rows) : rows, limits, ridge).point;
  first.information = SumsAt(law, rows, first.own, limits).information;
  // Of theta it may be below 0 away from its maximum.
  first.information.diagonal() = first.information.diagonal().cwiseMax(0);
  first.weighted = first.information * first.own;
  return first;
}

}  // namespace

FirstSums FirstSumsOf(const Law& law, const Rows& rows, const Limits& limits) {
  const auto p = static_cast<Eigen::Index>(NumParameters(law, static_cast<size_t>(rows.x.cols())));
  if (rows.x.rows() == 0)
    return {Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Zero(p, p), 0, Eigen::VectorXd::Zero(p)};
  if (HasMoreParameters(law)) return FirstOfMore(law, rows, limits);
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
