#include "stats/tables/standardized.h"

#include <Eigen/LU>
#include <cmath>
#include <numeric>

namespace partita::stats::tables {
namespace {

constexpr double kSingular = 1e-12;

}  // namespace

std::optional<double> StandardizedDifference(const GroupMoments& first,
                                             const GroupMoments& second) {
  const double variance = (first.sd * first.sd + second.sd * second.sd) / 2;
  if (variance <= 0) return std::nullopt;
  return std::fabs(first.mean - second.mean) / std::sqrt(variance);
}

std::optional<double> StandardizedDifference(const std::vector<uint64_t>& first,
                                             const std::vector<uint64_t>& second) {
  const auto n = static_cast<double>(std::accumulate(first.begin(), first.end(), uint64_t{0}));
  const auto m = static_cast<double>(std::accumulate(second.begin(), second.end(), uint64_t{0}));
  if (n == 0 || m == 0) return std::nullopt;
  // The share of the first value that is there follows from the others.
  std::vector<double> p, q;
  bool left_out = false;
  for (size_t k = 0; k < first.size(); ++k) {
    if (first[k] + second[k] == 0) continue;
    if (left_out) {
      p.push_back(static_cast<double>(first[k]) / n);
      q.push_back(static_cast<double>(second[k]) / m);
    }
    left_out = true;
  }
  if (p.empty()) return 0;
  const auto size = static_cast<Eigen::Index>(p.size());
  const Eigen::VectorXd a = Eigen::Map<const Eigen::VectorXd>(p.data(), size);
  const Eigen::VectorXd b = Eigen::Map<const Eigen::VectorXd>(q.data(), size);
  const Eigen::MatrixXd covariance =
      (Eigen::MatrixXd((a + b).asDiagonal()) - a * a.transpose() - b * b.transpose()) / 2;
  Eigen::FullPivLU<Eigen::MatrixXd> lu(covariance);
  lu.setThreshold(kSingular);
  if (!lu.isInvertible()) return std::nullopt;
  return std::sqrt((a - b).dot(lu.solve(a - b)));
}

}  // namespace partita::stats::tables
