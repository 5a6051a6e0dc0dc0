#include "stats/glm/guarded.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace partita::stats::glm {
namespace {

// Of the model with the intercept alone, offsets counted for poisson only; gamma: of log y.
Eigen::VectorXd StartOf(const Law& law, const Rows& rows, bool intercept,
                        const Eigen::VectorXd& ridge) {
  Eigen::VectorXd start = Eigen::VectorXd::Zero(rows.x.cols());
  if (law.family == Family::kGamma) {
    Eigen::MatrixXd information = rows.x.transpose() * rows.x;
    if (ridge.size() > 0) information.diagonal() += ridge;
    const Eigen::VectorXd logs = rows.y.array().log() - rows.offset.array();
    return information.ldlt().solve(rows.x.transpose() * logs);
  }
  if (!intercept) return start;
  const double sum = rows.y.sum();
  if (law.family == Family::kBinomial)
    start[0] = std::log(sum / (static_cast<double>(rows.y.size()) - sum));
  if (law.family == Family::kPoisson) start[0] = std::log(sum / rows.offset.array().exp().sum());
  return start;
}

// X' diag(y / mu) X of gamma models: what the log-likelihood's curvature is.
Eigen::MatrixXd ObservedInformation(const Rows& rows, const Eigen::VectorXd& point,
                                    const Limits& limits) {
  const Eigen::ArrayXd predictor =
      (rows.x * point + rows.offset).array().max(limits.lower).min(limits.upper);
  const Eigen::VectorXd ratio = rows.y.array() * (-predictor).exp();
  return rows.x.transpose() * ratio.asDiagonal() * rows.x;
}

}  // namespace

Guarded FitGuarded(const Law& law, const Rows& rows, const Limits& limits, bool intercept,
                   const Guard& guard, const Eigen::VectorXd& ridge) {
  Guarded fit;
  Eigen::VectorXd best = StartOf(law, rows, intercept, ridge);
  const auto sums_at = [&](const Eigen::VectorXd& point, bool last = false) {
    PointSums sums = SumsAt(law, rows, point, limits);
    if (law.family == Family::kGamma && !last)
      sums.information = ObservedInformation(rows, point, limits);
    if (ridge.size() == 0) return sums;
    AddRidge(sums, point, ridge);
    sums.deviance += ridge.dot(point.cwiseAbs2());
    return sums;
  };
  PointSums at_best = sums_at(best);
  const auto step = [](const PointSums& sums) -> Eigen::VectorXd {
    return sums.information.ldlt().solve(sums.score);
  };
  Eigen::VectorXd direction = step(at_best);
  double fraction = 1;
  for (int trial = 0; trial < guard.trials; ++trial) {
    const Eigen::VectorXd tried = best + fraction * direction;
    const PointSums sums = sums_at(tried);
    const bool beyond = tried.cwiseAbs().maxCoeff() > guard.most;
    if (beyond || sums.score.dot(direction) < -guard.slack) {
      fraction /= 2;
      ++fit.rejected;
      continue;
    }
    fit.most_rise = std::max(fit.most_rise, (sums.deviance - at_best.deviance) / 2);
    best = tried;
    at_best = sums;
    direction = step(at_best);
    fraction = 1;
  }
  fit.point = best + fraction * direction;
  const PointSums last = sums_at(fit.point, true);
  const Eigen::VectorXd final_step = step(last);
  fit.decrement = last.score.dot(final_step);
  fit.converged = fit.decrement < guard.decrement && last.outside == 0;
  fit.point += final_step;
  return fit;
}

}  // namespace partita::stats::glm
