// Features of rows about a reference point in which every variable stands by itself, for rows whose
// columns several parties hold: u_j = (y_j - mu_j) / sqrt(Sigma_jj) needs the column j only, while
// the whitened row of stats/sem/robust.h mixes all of them.
//
// With r = M u, M = L^-1 diag(sqrt(Sigma_jj)), the features t = (1, r, r_a r_b) are linear in
// (1, u, u_a u_b); so everything that is linear in Q stays so.
#pragma once

#include <Eigen/Core>
#include <cstddef>

#include "stats/sem/robust.h"

namespace partita::stats {

// root: diagonal, the implied standard deviations. Throws as FrameOf.
FeatureFrame ColumnFrameOf(const ScorePoint& point, std::size_t group);

// A_g for features in that frame: parameters x features, score of a row = A_g t.
Eigen::MatrixXd ColumnScoreMap(const ScorePoint& point, std::size_t group);

}  // namespace partita::stats
