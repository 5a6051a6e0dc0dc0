// A Markov chain over the exact X'X, given its noised entries: the law
//
//   p(A) prod_{i<=j} N(noised_ij; A_ij, v)   on positive definite A with A_ii <= max_i,
//   p(A) = inverse Wishart, prop. to |A|^-(degrees + p + 1)/2 exp(-tr(Scale A^-1) / 2).
//
// One step redraws single entries from their conditional law by slice sampling (Neal 2003). With
// G = A^-1 and A' = A + t (e_i e_j' + e_j e_i'), i != j,
//   |A'| / |A| = r = (1 + t G_ij)^2 - t^2 G_ii G_jj,
//   tr(Scale A'^-1) = tr(Scale G) - (2 (t + t^2 G_ij) s_ij - t^2 (G_jj s_ii + G_ii s_jj)) / r,
// s = G Scale G, and A' is positive definite for t between the roots of r. Diagonal entries:
// r = 1 + t G_ii, and the trace falls by t s_ii / r. So a conditional density costs a few flops per
// point and O(p^2) per accepted entry.
//
// With a column of ones (fixed_first) A_00 = n is known and stays.
#pragma once

#include <Eigen/Core>
#include <span>
#include <utility>
#include <vector>

#include "stats/blr/variates.h"

namespace partita::stats::blr {

struct GramTarget {
  Eigen::MatrixXd noised;  // symmetric, may be indefinite
  double noise_variance = 0;
  double degrees = 0;
  double max_diagonal = 0;
  bool fixed_first = false;
};

class GramChain {
 public:
  // Starts near the noised matrix. scale: the diagonal of Scale.
  GramChain(const GramTarget& target, const Eigen::VectorXd& scale);

  using Entry = std::pair<Eigen::Index, Eigen::Index>;  // i <= j
  // Those that vary.
  std::vector<Entry> Entries() const;
  // Leaves the law invariant, and is reversible if the entries come in an order that is as likely
  // as its reverse.
  void Redraw(std::span<const Entry> entries, Variates& variates);
  // Recomputes the inverse, which drifts by rounding; once per sweep.
  void Refresh();

  const Eigen::MatrixXd& gram() const { return gram_; }
  const Eigen::MatrixXd& inverse() const { return inverse_; }
  const Eigen::VectorXd& scale() const { return scale_; }
  void set_scale(const Eigen::VectorXd& scale) { scale_ = scale; }
  // A and Scale times D on both sides, D = sqrt(factor) I but for the column of ones. Keeps the
  // prior density times the volume element.
  void Stretch(double factor);
  // -sum (noised - A)^2 / (2 v) over the upper triangle.
  double LogNoiseDensity() const;
  bool WithinBounds() const;

 private:
  void RedrawOne(Eigen::Index i, Eigen::Index j, Variates& variates);
  void Move(Eigen::Index i, Eigen::Index j, double step);

  GramTarget target_;
  Eigen::VectorXd scale_;
  Eigen::MatrixXd gram_, inverse_;
  Eigen::VectorXd column_i_, column_j_;  // of the inverse, while it moves
};

}  // namespace partita::stats::blr
