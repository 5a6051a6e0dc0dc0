// What rows add up to at a point: all that a step of Fisher scoring needs of them.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "stats/glm/family.h"

namespace partita::stats::glm {

struct Rows {
  Eigen::MatrixXd x;          // n x p, with the column of ones if there is one
  Eigen::VectorXd y, offset;  // n each
  // n, above 0; empty: 1 each. Terms of a row count so often.
  Eigen::VectorXd weights = {};
  bool copies = false;  // a row of weight f is f equal rows
  // n, or empty: every row (every copy) by itself. Rows of one number belong together.
  std::vector<uint32_t> clusters = {};

  double weight(Eigen::Index i) const { return weights.size() == 0 ? 1 : weights[i]; }
  // Rows, copies counted.
  double count() const { return copies ? weights.sum() : static_cast<double>(y.size()); }
};

// Of all holders; clusters of one are none of another.
Rows Pooled(const std::vector<Rows>& by_holder);

struct PointSums {
  Eigen::VectorXd score;        // U = X' s
  Eigen::MatrixXd information;  // I = X' diag(w) X
  // Of negative binomial models deviance less twice OwnConstant: -2 log-likelihood.
  double deviance = 0, pearson = 0;
  // Rows of which a linear predictor is beyond the limits; it counts as the limit. Of a quasi-likelihood
  // also those whose Pearson term is above kMostPearson, and counts as that.
  uint64_t outside = 0;
};
// point: NumParameters of the columns.
PointSums SumsAt(const Law& law, const Rows& rows, const Eigen::VectorXd& point,
                 const Limits& limits);

// Of the log-likelihood less half the sum of ridge_j b_j^2: what this adds to score and information.
void AddRidge(PointSums& sums, const Eigen::VectorXd& point, const Eigen::VectorXd& ridge);

// What a holder of rows brings to the first point: the maximum of its own rows with a small ridge
// b'b / 2 against separation, weighted by their information: (sum of I_k)^-1 (sum of I_k b_k) is
// within few standard errors of the pooled maximum. The ridge is not in I_k; linear predictors are
// within the limits. Without rows zeros.
inline constexpr double kOwnRidge = 1;
struct FirstSums {
  Eigen::VectorXd weighted;     // I_k b_k
  Eigen::MatrixXd information;  // I_k
  double pearson = 0;
  Eigen::VectorXd own;  // b_k
};
FirstSums FirstSumsOf(const Law& law, const Rows& rows, const Limits& limits);

}  // namespace partita::stats::glm
