// How far linear questions about sufficient statistics have come towards telling them all.
//
// Every opened number is a row of weights times the statistics (linear_statistics.h). When the rows
// span everything, whoever asked them can solve for all moments: the leakage is then that of
// opening the moments (methods.md, R-k).
#pragma once

#include <Eigen/Core>
#include <vector>

#include "stats/sem/linear_statistics.h"

namespace partita::stats {

// Per group: where the statistics are centred (mean) and what whitens them (covariance), in z.
// Without a mean structure the mean is ignored.
struct RankReference {
  std::vector<Eigen::VectorXd> mean;
  std::vector<Eigen::MatrixXd> covariance;
};

// What the model implies at x, in z.
RankReference ReferenceAt(const RamModel& model, const StatisticsScale& scale,
                          const Eigen::VectorXd& x);

// The rank of all rows added so far, by Gram-Schmidt (twice) against an orthonormal basis.
//
// The rows are first written in terms of t = L^-1 (z - mean), L L' = covariance: a change of
// coordinates that does not change the rank (the constants it makes are known) but without which a
// mean far from 0, or columns of unlike scale, drown everything else in rounding. A row counts if
// what it adds exceeds kRankTolerance of its length: a number asked with less would be known to no
// digit, the answers being exact to about 1e-10 of their largest terms.
class RankTracker {
 public:
  static constexpr double kRankTolerance = 1e-9;

  RankTracker(const StatisticsLayout& layout, const RankReference& reference);

  // Rows of weights; returns the rank reached. Cost O(rows * rank * size).
  Eigen::Index Add(const Eigen::MatrixXd& weights);

  Eigen::Index rank() const { return rank_; }
  // All statistics can be solved for at this rank.
  Eigen::Index num_statistics() const { return layout_.size(); }
  bool full() const { return rank_ == num_statistics(); }

 private:
  Eigen::VectorXd Whiten(const Eigen::RowVectorXd& weights) const;

  StatisticsLayout layout_;
  std::vector<Eigen::VectorXd> mean_;
  std::vector<Eigen::MatrixXd> root_;  // L
  Eigen::MatrixXd basis_;              // orthonormal columns, the first rank_ in use
  Eigen::Index rank_ = 0;
};

}  // namespace partita::stats
