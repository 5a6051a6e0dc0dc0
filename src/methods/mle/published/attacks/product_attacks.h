// What the parties of Algorithms 1 and 3 can do with what they see.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "methods/mle/published/numbers.h"
#include "methods/mle/published/secure_matmul.h"

namespace partita::methods::mle::published {

// Algorithm 1. Number of linearly independent constraints on a column of X2 that party 1 has: the
// rank of I - Z Z'.
Eigen::Index ConstraintsOnSecond(const MatmulSight& sight);
// X2 is W + Z c with c unknown: `known`, some of its rows (their numbers in `places`, at least as
// many as Z has columns), tell all others.
Eigen::MatrixXd CompleteSecond(const MatmulSight& sight, const std::vector<Eigen::Index>& places,
                               const Eigen::MatrixXd& known);

// Algorithm 3. Two runs on the same rows: the candidates of a row that occur in both. A row for
// which not exactly one does stays zero and is not counted.
struct MatchedRows {
  Eigen::MatrixXd rows;
  Eigen::Index found = 0;
};
MatchedRows MatchCandidates(const Matrix<UInt128>& first, const Matrix<UInt128>& second,
                            Eigen::Index rows);

}  // namespace partita::methods::mle::published
