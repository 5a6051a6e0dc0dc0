#include "stats/glm/fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "stats/glm/likelihood.h"

namespace partita::stats::glm {
namespace {

constexpr int kMostSteps = 50, kMostHalvings = 30;
constexpr double kRounding = 1e-10;  // of deviances that are compared
constexpr double kSquaredStep = 1e-18;

Eigen::VectorXd SolveRidged(Eigen::MatrixXd information, const Eigen::VectorXd& right,
                            double ridge) {
  information.diagonal().array() += ridge;
  return information.ldlt().solve(right);
}

// The first step of iteratively reweighted least squares.
Eigen::VectorXd FirstPoint(Family family, const Rows& rows, const Limits& limits, double ridge) {
  const Eigen::Index n = rows.x.rows();
  Eigen::VectorXd weights(n), right(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const double eta = std::clamp(FirstPredictor(family, rows.y[i]), limits.lower, limits.upper);
    const RowTerms terms = TermsAt(family, rows.y[i], eta);
    weights[i] = terms.weight;
    right[i] = terms.weight * (eta - rows.offset[i]) + terms.score;
  }
  return SolveRidged(rows.x.transpose() * weights.asDiagonal() * rows.x, rows.x.transpose() * right,
                     ridge);
}

double Objective(const PointSums& sums, const Eigen::VectorXd& point, double ridge) {
  return sums.deviance + ridge * point.squaredNorm();
}

}  // namespace

Maximum Maximise(Family family, const Rows& rows, const Limits& limits, double ridge) {
  Maximum maximum;
  maximum.point = FirstPoint(family, rows, limits, ridge);
  PointSums sums = SumsAt(family, rows, maximum.point, limits);
  double objective = Objective(sums, maximum.point, ridge);
  for (maximum.iterations = 1; maximum.iterations < kMostSteps; ++maximum.iterations) {
    Eigen::VectorXd step = SolveRidged(sums.information, sums.score - ridge * maximum.point, ridge);
    const Eigen::MatrixXd before = sums.information;
    double next = 0;
    for (int halvings = 0; halvings <= kMostHalvings; ++halvings, step /= 2) {
      sums = SumsAt(family, rows, maximum.point + step, limits);
      next = Objective(sums, maximum.point + step, ridge);
      if (next <= objective * (1 + kRounding) + kRounding) break;
    }
    const double length = step.dot(before * step) + ridge * step.squaredNorm();
    maximum.point += step;
    objective = next;
    if (length < kSquaredStep) {
      maximum.converged = sums.outside == 0;
      break;
    }
  }
  return maximum;
}

Fit FitRows(Family family, const Rows& rows, const Limits& limits, bool intercept) {
  Fit fit;
  fit.maximum = Maximise(family, rows, limits, 0);
  const PointSums sums = SumsAt(family, rows, fit.maximum.point, limits);
  const auto n = static_cast<double>(rows.x.rows()), p = static_cast<double>(rows.x.cols());
  fit.deviance = sums.deviance;
  if (HasDispersion(family)) fit.dispersion = sums.pearson / (n - p);
  const Eigen::MatrixXd inverse =
      sums.information.ldlt().solve(Eigen::MatrixXd::Identity(rows.x.cols(), rows.x.cols()));
  fit.standard_errors = (fit.dispersion * inverse.diagonal()).cwiseSqrt();
  const Rows null = {
      intercept ? Eigen::MatrixXd(rows.x.leftCols(1)) : Eigen::MatrixXd(rows.x.rows(), 0), rows.y,
      rows.offset};
  const Eigen::VectorXd none(0);
  const Eigen::VectorXd at = intercept ? Maximise(family, null, limits, 0).point : none;
  fit.null_deviance = SumsAt(family, null, at, limits).deviance;
  fit.aic = 2 * p - 2 * LogLikelihood(family, {n, fit.deviance, OwnConstant(family, rows)}) +
            (HasDispersion(family) ? 2 : 0);
  return fit;
}

}  // namespace partita::stats::glm
