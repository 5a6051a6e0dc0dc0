// What rows add up to at a point: all that a step of Fisher scoring needs of them.
#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "stats/glm/family.h"

namespace partita::stats::glm {

struct Rows {
  Eigen::MatrixXd x;          // n x p, with the column of ones if there is one
  Eigen::VectorXd y, offset;  // n each
};

struct PointSums {
  Eigen::VectorXd score;        // U = X' s
  Eigen::MatrixXd information;  // I = X' diag(w) X
  double deviance = 0, pearson = 0;
  uint64_t outside = 0;  // rows whose linear predictor is beyond the limits; it counts as the limit
};
PointSums SumsAt(Family family, const Rows& rows, const Eigen::VectorXd& point,
                 const Limits& limits);

// What a holder of rows brings to the first point: the maximum of its own rows with a small ridge
// b'b / 2 against separation, weighted by their information: (sum of I_k)^-1 (sum of I_k b_k) is
// within few standard errors of the pooled maximum. The ridge is not in I_k; linear predictors are
// within the limits. Without rows zeros.
struct FirstSums {
  Eigen::VectorXd weighted;     // I_k b_k
  Eigen::MatrixXd information;  // I_k
  double pearson = 0;
};
FirstSums FirstSumsOf(Family family, const Rows& rows, const Limits& limits);

}  // namespace partita::stats::glm
