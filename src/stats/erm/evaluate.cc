#include "stats/erm/evaluate.h"

#include <algorithm>

namespace partita::stats::erm {

double ErrorRate(const LabelledRows& rows, const Eigen::VectorXd& w) {
  const Eigen::VectorXd margins = (rows.x * w).cwiseProduct(rows.y);
  const auto wrong =
      std::count_if(margins.begin(), margins.end(), [](double m) { return !(m > 0); });
  return static_cast<double>(wrong) / static_cast<double>(margins.size());
}

}  // namespace partita::stats::erm
