// Features of rows about a reference point in which every variable stands by itself, for rows whose
// columns several parties hold: u_j = (y_j - m_j) / s_j needs the column j only, while the whitened
// row of stats/sem/robust.h mixes all of them.
//
// Rows of two frames are affine functions of each other, so that features t = (1, r, r_a r_b) of
// one are linear in those of the other, and everything that is linear in Q stays so.
#pragma once

#include <Eigen/Core>
#include <cstddef>

#include "stats/sem/robust.h"

namespace partita::stats {

// The means and standard deviations that the model implies; root is diagonal. Throws as FrameOf.
FeatureFrame ColumnFrameOf(const ScorePoint& point, std::size_t group);

// Centres and half-widths of the public bounds: u_j is in [-1, 1].
FeatureFrame PublicFrame(const StatisticsScale& scale);

// C, features x features: of the same row, t in `to` = C (t in `from`).
Eigen::MatrixXd ChangeOfFrame(const FeatureFrame& to, const FeatureFrame& from);

// A_g for features in the frame ColumnFrameOf: parameters x features, score of a row = A_g t.
Eigen::MatrixXd ColumnScoreMap(const ScorePoint& point, std::size_t group);

}  // namespace partita::stats
