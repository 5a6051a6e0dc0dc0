#include "stats/glm/wald.h"

#include <Eigen/Cholesky>
#include <cmath>

namespace partita::stats::glm {
namespace {

constexpr double kSmallestPivot = 0x1p-20;

}  // namespace

std::optional<double> WaldStatistic(const Eigen::VectorXd& estimates,
                                    const Eigen::MatrixXd& covariance,
                                    std::span<const size_t> columns) {
  const auto k = static_cast<Eigen::Index>(columns.size());
  Eigen::MatrixXd correlation(k, k);
  Eigen::VectorXd in_errors(k);
  const auto at = [&](Eigen::Index i) {
    return static_cast<Eigen::Index>(columns[static_cast<size_t>(i)]);
  };
  for (Eigen::Index i = 0; i < k; ++i) {
    in_errors[i] = estimates[at(i)] / std::sqrt(covariance(at(i), at(i)));
    for (Eigen::Index j = 0; j < k; ++j) {
      correlation(i, j) =
          covariance(at(i), at(j)) / std::sqrt(covariance(at(i), at(i)) * covariance(at(j), at(j)));
    }
  }
  const Eigen::LDLT<Eigen::MatrixXd> factor(correlation);
  if (!correlation.allFinite() || factor.vectorD().minCoeff() < kSmallestPivot) return {};
  return in_errors.dot(factor.solve(in_errors));
}

}  // namespace partita::stats::glm
