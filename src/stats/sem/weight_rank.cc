#include "stats/sem/weight_rank.h"

#include <Eigen/Cholesky>
#include <cmath>

#include "stats/sem/objective.h"

namespace partita::stats {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

RankReference ReferenceAt(const RamModel& model, const StatisticsScale& scale, const VectorXd& x) {
  const Index p = model.num_observed;
  const VectorXd ratio = model.variable_unit.head(p).cwiseQuotient(scale.half_width);
  RankReference reference;
  for (const ImpliedMoments& implied : Imply(model, x)) {
    reference.mean.push_back(ratio.cwiseProduct(implied.mean.head(p)) -
                             scale.centre.cwiseQuotient(scale.half_width));
    reference.covariance.push_back(ratio.asDiagonal() * implied.covariance.topLeftCorner(p, p) *
                                   ratio.asDiagonal());
  }
  return reference;
}

RankTracker::RankTracker(const StatisticsLayout& layout, const RankReference& reference)
    : layout_(layout), mean_(reference.mean), basis_(layout.size(), 0) {
  for (const MatrixXd& covariance : reference.covariance) {
    root_.push_back(Eigen::LLT<MatrixXd>(covariance).matrixL());
  }
}

// z = m + L t, so z'Wz + w'z = t'(L'WL) t + (L'(2 W m + w))' t + a constant. Off-diagonal
// statistics appear once in the layout but twice in t'(.)t: weights sqrt(2) make the coordinates
// those of an orthonormal basis of symmetric matrices.
VectorXd RankTracker::Whiten(const Eigen::RowVectorXd& weights) const {
  const Index p = layout_.num_variables, sums = layout_.num_sums();
  VectorXd out(layout_.size());
  for (Index g = 0; g < layout_.num_groups; ++g) {
    const MatrixXd& root = root_[static_cast<std::size_t>(g)];
    Index at = g * layout_.per_group() + sums;
    MatrixXd w(p, p);
    for (Index i = 0; i < p; ++i) {
      for (Index j = i; j < p; ++j) {
        const double weight = weights[at++];
        w(i, j) = w(j, i) = i == j ? weight : 0.5 * weight;
      }
    }
    const MatrixXd whitened = root.transpose() * w * root;
    at = g * layout_.per_group();
    if (layout_.means) {
      out.segment(at, p) = root.transpose() * (2 * w * mean_[static_cast<std::size_t>(g)] +
                                               weights.segment(at, p).transpose());
    }
    at += sums;
    for (Index i = 0; i < p; ++i) {
      out[at++] = whitened(i, i);
      for (Index j = i + 1; j < p; ++j) out[at++] = std::sqrt(2.0) * whitened(i, j);
    }
  }
  return out;
}

Index RankTracker::Add(const MatrixXd& weights) {
  for (Index r = 0; r < weights.rows() && !full(); ++r) {
    VectorXd row = Whiten(weights.row(r));
    const double length = row.norm();
    if (!(length > 0)) continue;
    row /= length;
    for (int pass = 0; pass < 2; ++pass) {
      const auto known = basis_.leftCols(rank_);
      row -= known * (known.transpose() * row).eval();
    }
    const double added = row.norm();
    if (added <= kRankTolerance) continue;
    if (basis_.cols() == rank_) basis_.conservativeResize(Eigen::NoChange, 2 * rank_ + 8);
    basis_.col(rank_++) = row / added;
  }
  return rank_;
}

}  // namespace partita::stats
