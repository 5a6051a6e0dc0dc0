// The derivative of each row's log-likelihood at a point, as robust errors sum them up (robust.h).
#pragma once

#include <functional>

#include "stats/glm/sums.h"

namespace partita::stats::glm {

// Writes the derivative u of this row as if it counted once: NumParameters numbers. Returns a P with
// uu' at most P times the row's information; Pearson's term where there is one linear predictor.
using RowScore = std::function<double(Eigen::Index row, Eigen::VectorXd& score)>;

// rows and point must outlive the result. Of negative binomial models without theta: its place is 0.
RowScore RowScoreAt(const Law& law, const Rows& rows, const Eigen::VectorXd& point,
                    const Limits& limits);

}  // namespace partita::stats::glm
