// What a RAM group implies at a point, and how each of its cells moves it.
#pragma once

#include <Eigen/Core>

#include "stats/sem/ram.h"

namespace partita::stats {

// B = (I - A)^-1 and what it makes of S and M, internal units, all variables. A feedback loop of
// strength one (I - A singular) gives infinite moments and no effects.
struct Propagated {
  Eigen::MatrixXd effects;     // B
  Eigen::MatrixXd covariance;  // B S B'
  Eigen::VectorXd mean;        // B M
};
Propagated Propagate(const RamGroup& group, const Eigen::VectorXd& x);

// With Z = (F B, F B S B'), p x 2v, a cell moves Sigma by half * (z_left z_right' + z_right
// z_left') and mu by pull * z_left, z_i the columns of Z.
struct CellDirection {
  Eigen::Index left = 0, right = 0;
  double half = 0;
  double pull = 0;
};
CellDirection DirectionOf(const RamCell& cell, const Propagated& all);

// Z, for the first num_observed variables.
Eigen::MatrixXd DirectionColumns(const Propagated& all, Eigen::Index num_observed);

}  // namespace partita::stats
