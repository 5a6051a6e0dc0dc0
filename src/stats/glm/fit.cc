#include "stats/glm/fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "stats/glm/likelihood.h"
#include "stats/glm/negative_binomial.h"
#include "stats/glm/ordinal.h"

namespace partita::stats::glm {
namespace {

constexpr int kMostSteps = 50, kMostHalvings = 30;
constexpr double kRounding = 1e-10;  // of deviances that are compared
constexpr double kSquaredStep = 1e-18;

Eigen::VectorXd SolveRidged(Eigen::MatrixXd information, const Eigen::VectorXd& right,
                            const Eigen::VectorXd& ridge) {
  // Only that of log(theta) may be below 0, far from its maximum: there the step goes uphill as well.
  information.diagonal() = information.diagonal().cwiseAbs() + ridge;
  return information.ldlt().solve(right);
}

bool IsLogBinomial(const Law& law) {
  return law.family == Family::kBinomial && law.link == Link::kLog;
}

// The share of ones, a little inside of what it can be.
double LogShare(const Rows& rows) {
  double ones = 0, all = 0;
  for (Eigen::Index i = 0; i < rows.y.size(); ++i) {
    ones += rows.weight(i) * rows.y[i];
    all += rows.weight(i);
  }
  return std::log(std::clamp(ones / all, 0.01, 0.95));
}

// The first step of iteratively reweighted least squares.
Eigen::VectorXd FirstPoint(const Law& law, const Rows& rows, const Limits& limits,
                           const Eigen::VectorXd& ridge) {
  if (law.family == Family::kMultinomial) return Eigen::VectorXd::Zero(ridge.size());
  if (law.family == Family::kOrdinal) return OrdinalStart(law, rows);
  if (law.family == Family::kNegativeBinomial) {
    const Law poisson = LawOf(Family::kPoisson);
    return NegativeBinomialStart(rows, limits,
                                 FirstPoint(poisson, rows, limits, ridge.head(rows.x.cols())));
  }
  const Eigen::Index n = rows.x.rows();
  Eigen::VectorXd weights(n), right(n);
  const bool constant = IsLogBinomial(law);
  const double share = constant ? LogShare(rows) : 0;
  for (Eigen::Index i = 0; i < n; ++i) {
    const double first = constant ? share : FirstPredictor(law, rows.y[i]);
    const double eta = std::clamp(first, limits.lower, limits.upper);
    const RowTerms terms = TermsAt(law, rows.y[i], eta);
    weights[i] = rows.weight(i) * terms.weight;
    right[i] = weights[i] * (eta - rows.offset[i]);
    if (!constant) right[i] += rows.weight(i) * terms.score;
  }
  return SolveRidged(rows.x.transpose() * weights.asDiagonal() * rows.x, rows.x.transpose() * right,
                     ridge);
}

double Objective(const PointSums& sums, const Eigen::VectorXd& point,
                 const Eigen::VectorXd& ridge) {
  return sums.deviance + ridge.dot(point.cwiseAbs2());
}

}  // namespace

Maximum Maximise(const Law& law, const Rows& rows, const Limits& limits) {
  const size_t parameters = NumParameters(law, static_cast<size_t>(rows.x.cols()));
  return Maximise(law, rows, limits, Eigen::VectorXd::Zero(static_cast<Eigen::Index>(parameters)));
}

Maximum Maximise(const Law& law, const Rows& rows, const Limits& limits,
                 const Eigen::VectorXd& ridge) {
  Maximum maximum;
  maximum.point = FirstPoint(law, rows, limits, ridge);
  PointSums sums = SumsAt(law, rows, maximum.point, limits);
  double objective = Objective(sums, maximum.point, ridge);
  for (maximum.iterations = 1; maximum.iterations < kMostSteps; ++maximum.iterations) {
    Eigen::VectorXd step =
        SolveRidged(sums.information, sums.score - ridge.cwiseProduct(maximum.point), ridge);
    Eigen::MatrixXd before = sums.information;
    before.diagonal() = before.diagonal().cwiseAbs();
    const uint64_t outside = sums.outside;
    double next = 0;
    for (int halvings = 0; halvings <= kMostHalvings; ++halvings, step /= 2) {
      sums = SumsAt(law, rows, maximum.point + step, limits);
      next = Objective(sums, maximum.point + step, ridge);
      const bool keeps_inside = IsLogBinomial(law) || law.family == Family::kOrdinal;
      const bool inside = !keeps_inside || sums.outside <= outside;
      if (inside && next <= objective * (1 + kRounding) + kRounding) break;
    }
    const double length = step.dot(before * step) + ridge.dot(step.cwiseAbs2());
    maximum.point += step;
    objective = next;
    if (length < kSquaredStep) {
      maximum.converged = sums.outside == 0;
      break;
    }
  }
  return maximum;
}

Fit FitRows(const Law& law, const Rows& rows, const Limits& limits, bool intercept) {
  Fit fit;
  fit.maximum = Maximise(law, rows, limits);
  const PointSums sums = SumsAt(law, rows, fit.maximum.point, limits);
  const double n = rows.count();
  const auto p = static_cast<double>(fit.maximum.point.size());
  const Law at = AtPoint(law, rows, fit.maximum.point);
  const double constant = OwnConstant(at, rows);
  fit.deviance = sums.deviance;
  if (law.family == Family::kNegativeBinomial) fit.deviance += 2 * constant;
  if (HasDispersion(law)) fit.dispersion = sums.pearson / (n - p);
  const Eigen::MatrixXd inverse = sums.information.ldlt().solve(
      Eigen::MatrixXd::Identity(sums.information.rows(), sums.information.cols()));
  fit.standard_errors = (fit.dispersion * inverse.diagonal()).cwiseSqrt();
  if (HasLikelihood(law)) {
    fit.aic =
        2 * p - 2 * LogLikelihood(law, {n, fit.deviance, constant}) + (HasDispersion(law) ? 2 : 0);
  }
  if (!HasNull(law)) return fit;
  const Rows null = {
      intercept ? Eigen::MatrixXd(rows.x.leftCols(1)) : Eigen::MatrixXd(rows.x.rows(), 0), rows.y,
      rows.offset, rows.weights, rows.copies};
  const Eigen::VectorXd none(0);
  const Eigen::VectorXd alone = intercept ? Maximise(law, null, limits).point : none;
  fit.null_deviance = SumsAt(law, null, alone, limits).deviance;
  return fit;
}

}  // namespace partita::stats::glm
