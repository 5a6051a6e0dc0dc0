#include "stats/survival/cox_robust.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <map>
#include <utility>

namespace partita::stats::survival {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd CoxScoreResiduals(const CoxRows& rows, const VectorXd& point, Ties ties) {
  const size_t n = rows.time.size();
  const VectorXd weights = (rows.x * point).array().exp();
  const auto stratum = [&](size_t row) { return rows.stratum.empty() ? 0 : rows.stratum[row]; };
  std::map<std::pair<int, double>, std::vector<size_t>> events;
  for (size_t row = 0; row < n; ++row) {
    if (rows.event[row] != 0) events[{stratum(row), rows.time[row]}].push_back(row);
  }
  MatrixXd residuals = MatrixXd::Zero(static_cast<Index>(n), point.size());
  for (const auto& [at, tied] : events) {
    const double time = at.second;
    std::vector<Index> at_risk;
    for (size_t row = 0; row < n; ++row) {
      if (stratum(row) == at.first && rows.time[row] >= time &&
          (rows.entry.empty() || rows.entry[row] < time))
        at_risk.push_back(static_cast<Index>(row));
    }
    const auto count = static_cast<double>(tied.size());
    for (size_t k = 0; k < tied.size(); ++k) {
      // What is at risk of the tied rows.
      const double left = ties == Ties::kEfron ? 1 - static_cast<double>(k) / count : 1;
      const auto part = [&](Index i) {
        const bool own =
            rows.event[static_cast<size_t>(i)] != 0 && rows.time[static_cast<size_t>(i)] == time;
        return (own ? left : 1) * weights[i];
      };
      double sum = 0;
      VectorXd mean = VectorXd::Zero(point.size());
      for (const Index i : at_risk) {
        sum += part(i);
        mean += part(i) * rows.x.row(i).transpose();
      }
      mean /= sum;
      for (const Index i : at_risk)
        residuals.row(i) -= part(i) / sum * (rows.x.row(i) - mean.transpose());
      for (const size_t row : tied) {
        const auto i = static_cast<Index>(row);
        residuals.row(i) += (rows.x.row(i) - mean.transpose()) / count;
      }
    }
  }
  return residuals;
}

namespace {

MatrixXd SumsByCluster(const CoxRows& rows, const MatrixXd& residuals) {
  if (rows.cluster.empty()) return residuals;
  const int last = *std::max_element(rows.cluster.begin(), rows.cluster.end());
  MatrixXd sums = MatrixXd::Zero(last + 1, residuals.cols());
  for (size_t row = 0; row < rows.cluster.size(); ++row)
    sums.row(rows.cluster[row]) += residuals.row(static_cast<Index>(row));
  return sums;
}

}  // namespace

CoxRobust CoxRobustAt(const CoxRows& rows, const VectorXd& point, Ties ties) {
  const MatrixXd residuals = SumsByCluster(rows, CoxScoreResiduals(rows, point, ties));
  const MatrixXd information = CoxSumsAt(rows, point, ties).information;
  const MatrixXd dfbeta = information.ldlt().solve(residuals.transpose());
  CoxRobust robust;
  robust.covariance = dfbeta * dfbeta.transpose();
  robust.standard_errors = robust.covariance.diagonal().cwiseSqrt();
  robust.wald_test = point.dot(robust.covariance.ldlt().solve(point));
  return robust;
}

}  // namespace partita::stats::survival
