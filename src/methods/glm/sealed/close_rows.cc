#include "methods/glm/sealed/close_rows.h"

#include <Eigen/Cholesky>
#include <cmath>

namespace partita::methods::glm {
namespace {

constexpr double kBinsOfLogOdds = 16;
constexpr double kPredictorError = 0x1p-36;  // on shares

}  // namespace

CloseRows CloseRowsOf(const stats::glm::Rows& rows, const Eigen::VectorXd& at,
                      const Eigen::MatrixXd& information, double radius,
                      const std::vector<double>& cuts) {
  const Eigen::LLT<Eigen::MatrixXd> root(information);
  const Eigen::VectorXd predictors = rows.x * at + rows.offset;
  CloseRows close{std::vector<double>(cuts.size()), 0};
  double events = 0;
  for (Eigen::Index i = 0; i < predictors.size(); ++i) events += rows.weight(i) * rows.y[i];
  for (Eigen::Index i = 0; i < predictors.size(); ++i) {
    const Eigen::VectorXd row = rows.x.row(i).transpose();
    const double distance = radius * root.matrixL().solve(row).norm() + kPredictorError;
    for (size_t c = 0; c < cuts.size(); ++c) {
      const double limit = std::log(cuts[c] / (1 - cuts[c]));
      if (std::abs(predictors[i] - limit) < distance) close.cuts[c] += rows.weight(i);
    }
    const double bins = kBinsOfLogOdds * predictors[i];
    // A row in the next bin is with half of the pairs of both bins in the place of the other half.
    const double of_outcome = rows.y[i] > 0 ? events : rows.count() - events;
    if (std::abs(bins - std::round(bins)) < kBinsOfLogOdds * distance)
      close.area += rows.weight(i) / (2 * of_outcome);
  }
  return close;
}

}  // namespace partita::methods::glm
