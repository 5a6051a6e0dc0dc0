// Linear functions of a row, and their products as weights of its features (robust.h).
#pragma once

#include <Eigen/Core>

namespace partita::stats {

// constant + linear'r of a row r.
struct LinearForm {
  double constant = 0;
  Eigen::VectorXd linear;
};

// As weights of t = (1, r, r_a r_b for a <= b).
Eigen::VectorXd AsFeatures(const LinearForm& form);
// The product of two of them, likewise.
Eigen::VectorXd Multiply(const LinearForm& a, const LinearForm& b);

}  // namespace partita::stats
