// Rows that the last point of a sealed fit may count on the other side of a limit than the maximum does: for rehearsals.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "stats/glm/sums.h"

namespace partita::methods::glm {

// Of a point p with (p - at)' information (p - at) at most radius^2, each weighed by its copies.
struct CloseRows {
  std::vector<double> cuts;  // by cut point
  double area = 0;           // how far the area and its error may be from those at `at`
};
// rows: of a logistic model, pooled; information: at `at`.
CloseRows CloseRowsOf(const stats::glm::Rows& rows, const Eigen::VectorXd& at,
                      const Eigen::MatrixXd& information, double radius,
                      const std::vector<double>& cuts);

}  // namespace partita::methods::glm
