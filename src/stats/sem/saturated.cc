// Patterns of observed variables, and the saturated model fitted to them by EM.
#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <map>

#include "base/error.h"
#include "stats/sem/fiml.h"

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kTolerance = 1e-10;
constexpr int kMaxRounds = 20000;

GroupMoments MomentsOfRows(const MatrixXd& rows, const std::vector<Index>& which,
                           const std::vector<int>& observed) {
  const MatrixXd values = rows(which, observed);
  GroupMoments moments;
  moments.n = static_cast<double>(values.rows());
  moments.mean = values.colwise().mean();
  const MatrixXd centred = values.rowwise() - moments.mean.transpose();
  moments.covariance = centred.transpose() * centred / moments.n;
  return moments;
}

// Adds what is expected of the pattern's rows, complete, to sum z and sum z z' (around `at.mean`).
void AddExpected(const PatternMoments& pattern, const GroupMoments& at, VectorXd& sum,
                 MatrixXd& cross) {
  const std::vector<int>& observed = pattern.observed;
  const MatrixXd among = at.covariance(observed, observed);
  const Eigen::LLT<MatrixXd> llt(among);
  if (llt.info() != Eigen::Success) {
    throw Error(ErrorCode::kBadInput, "the covariances of what is observed together are singular",
                "leave out variables that determine each other, or that are rarely observed");
  }
  // Regression of all variables on the observed ones; the identity for these.
  const MatrixXd all = at.covariance(Eigen::all, observed);
  const MatrixXd weights = llt.solve(all.transpose()).transpose();
  MatrixXd left = at.covariance - weights * all.transpose();
  for (const int v : observed) {
    left.row(v).setZero();
    left.col(v).setZero();
  }
  const VectorXd deviation = pattern.moments.mean - at.mean(observed);
  const VectorXd mean = weights * deviation;
  const MatrixXd second = pattern.moments.covariance + deviation * deviation.transpose();
  sum += pattern.moments.n * mean;
  cross += pattern.moments.n * (weights * second * weights.transpose() + left);
}

}  // namespace

GroupMoments AvailableMoments(const ParameterTable& table,
                              const std::vector<PatternMoments>& patterns, std::size_t group) {
  const auto p = static_cast<Index>(table.observed.size());
  GroupMoments start{0, VectorXd::Zero(p), MatrixXd::Zero(p, p)};
  VectorXd count = VectorXd::Zero(p), square = VectorXd::Zero(p);
  for (const PatternMoments& pattern : patterns) {
    if (pattern.group != group) continue;
    const GroupMoments& moments = pattern.moments;
    start.n += moments.n;
    for (std::size_t i = 0; i < pattern.observed.size(); ++i) {
      const int v = pattern.observed[i];
      const auto own = static_cast<Index>(i);
      count[v] += moments.n;
      start.mean[v] += moments.n * moments.mean[own];
      square[v] += moments.n * (moments.covariance(own, own) + std::pow(moments.mean[own], 2));
    }
  }
  for (Index v = 0; v < p; ++v) {
    const std::string& name = table.observed[static_cast<std::size_t>(v)];
    if (count[v] == 0) {
      throw Error(ErrorCode::kBadInput, fmt::format("no row has a value of '{}'", name),
                  "leave the variable out of the model");
    }
    start.mean[v] /= count[v];
    start.covariance(v, v) = square[v] / count[v] - std::pow(start.mean[v], 2);
    if (start.covariance(v, v) > 1e-14 * square[v] / count[v]) continue;
    throw Error(ErrorCode::kBadInput, fmt::format("all values of '{}' are equal", name),
                "leave the variable out of the model");
  }
  return start;
}

std::vector<PatternMoments> PatternsOf(const MatrixXd& rows, std::size_t group) {
  std::vector<std::pair<std::vector<int>, std::vector<Index>>> found;
  std::map<std::vector<int>, std::size_t> places;
  for (Index r = 0; r < rows.rows(); ++r) {
    std::vector<int> observed;
    for (Index v = 0; v < rows.cols(); ++v) {
      if (!std::isnan(rows(r, v))) observed.push_back(static_cast<int>(v));
    }
    if (observed.empty()) continue;
    const auto [place, added] = places.emplace(observed, found.size());
    if (added) found.emplace_back(observed, std::vector<Index>{});
    found[place->second].second.push_back(r);
  }
  std::vector<PatternMoments> patterns;
  for (const auto& [observed, which] : found) {
    patterns.push_back({group, observed, MomentsOfRows(rows, which, observed)});
  }
  return patterns;
}

GroupMoments SaturatedMoments(const ParameterTable& table,
                              const std::vector<PatternMoments>& patterns, std::size_t group) {
  GroupMoments at = AvailableMoments(table, patterns, group);
  const VectorXd unit = at.covariance.diagonal().cwiseSqrt();
  const Index p = at.mean.size();
  for (int round = 0; round < kMaxRounds; ++round) {
    VectorXd sum = VectorXd::Zero(p);
    MatrixXd cross = MatrixXd::Zero(p, p);
    for (const PatternMoments& pattern : patterns) {
      if (pattern.group == group) AddExpected(pattern, at, sum, cross);
    }
    const VectorXd shift = sum / at.n;
    const MatrixXd covariance = cross / at.n - shift * shift.transpose();
    const MatrixXd change = covariance - at.covariance;
    const double moved =
        std::max(shift.cwiseQuotient(unit).cwiseAbs().maxCoeff(),
                 change.cwiseQuotient(unit * unit.transpose()).cwiseAbs().maxCoeff());
    at.mean += shift;
    at.covariance = covariance;
    if (moved < kTolerance) return at;
  }
  throw Error(ErrorCode::kBadInput, "the moments of the incomplete rows did not converge",
              "leave out variables that are rarely observed together");
}

}  // namespace partita::stats
