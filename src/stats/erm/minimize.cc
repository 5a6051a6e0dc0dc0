#include "stats/erm/minimize.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "base/error.h"

namespace partita::stats::erm {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// The diagonal of the penalty.
VectorXd Penalty(const Objective& objective, Index d) {
  VectorXd penalty = VectorXd::Constant(d, objective.lambda + objective.slack);
  if (objective.free_intercept) penalty(d - 1) = 0;
  return penalty;
}

VectorXd Margins(const LabelledRows& rows, const VectorXd& w) {
  return (rows.x * w).cwiseProduct(rows.y);
}

// Without a penalty and noise, a line that separates the labels can be made longer for ever: the
// gradient vanishes, but there is no minimum.
void RefuseSeparable(const LabelledRows& rows, const Objective& objective, const VectorXd& w) {
  if (objective.loss.kind != LossKind::kLogistic || objective.lambda + objective.slack > 0) return;
  if (objective.noise.size() > 0 && objective.noise.norm() > 0) return;
  if (Margins(rows, w).minCoeff() <= 0) return;
  throw Error(ErrorCode::kNotConverged, "a line separates the two labels, so there is no minimum",
              "use a penalty lambda > 0");
}

// J changes by less than this where rounding is all that is left.
constexpr double kRoundingOfValue = 1e-14;
constexpr int kHalvings = 60;

}  // namespace

void CheckRows(const LabelledRows& rows) {
  if (rows.x.rows() == 0 || rows.x.cols() == 0) {
    throw Error(ErrorCode::kUsage, "there are no rows or no columns to fit");
  }
  if (rows.y.size() != rows.x.rows()) {
    throw Error(ErrorCode::kBadData,
                fmt::format("there are {} labels for {} rows", rows.y.size(), rows.x.rows()));
  }
  for (Index i = 0; i < rows.y.size(); ++i) {
    if (rows.y(i) != 1 && rows.y(i) != -1) {
      throw Error(ErrorCode::kBadData, fmt::format("row {}: the label is neither -1 nor 1", i + 1),
                  "code the outcome's two levels as -1 and 1");
    }
    if (!rows.x.row(i).allFinite()) {
      throw Error(ErrorCode::kBadData, fmt::format("row {}: a value is not a number", i + 1));
    }
  }
}

double ObjectiveValue(const LabelledRows& rows, const Objective& objective, const VectorXd& w) {
  const VectorXd margins = Margins(rows, w);
  double sum = 0;
  for (const double margin : margins) sum += LossValue(objective.loss, margin);
  if (objective.noise.size() > 0) sum += objective.noise.dot(w);
  return sum / static_cast<double>(rows.x.rows()) +
         0.5 * Penalty(objective, w.size()).dot(w.cwiseAbs2());
}

VectorXd SumOfGradients(const LabelledRows& rows, const Loss& loss, const VectorXd& w) {
  VectorXd slopes = Margins(rows, w);
  for (double& slope : slopes) slope = LossSlope(loss, slope);
  return rows.x.transpose() * slopes.cwiseProduct(rows.y);
}

VectorXd ObjectiveGradient(const LabelledRows& rows, const Objective& objective,
                           const VectorXd& w) {
  VectorXd sum = SumOfGradients(rows, objective.loss, w);
  if (objective.noise.size() > 0) sum += objective.noise;
  return sum / static_cast<double>(rows.x.rows()) + Penalty(objective, w.size()).cwiseProduct(w);
}

MatrixXd ObjectiveHessian(const LabelledRows& rows, const Objective& objective, const VectorXd& w) {
  VectorXd curvatures = Margins(rows, w);
  for (double& curvature : curvatures) curvature = LossCurvature(objective.loss, curvature);
  MatrixXd hessian = rows.x.transpose() * curvatures.asDiagonal() * rows.x;
  hessian /= static_cast<double>(rows.x.rows());
  hessian.diagonal() += Penalty(objective, w.size());
  return hessian;
}

Minimum Minimize(const LabelledRows& rows, const Objective& objective,
                 const MinimizeOptions& options) {
  CheckRows(rows);
  Minimum at;
  at.w = VectorXd::Zero(rows.x.cols());
  at.value = ObjectiveValue(rows, objective, at.w);
  for (; at.iterations < options.max_iterations; ++at.iterations) {
    const VectorXd gradient = ObjectiveGradient(rows, objective, at.w);
    at.gradient_norm = gradient.norm();
    if (at.gradient_norm <= options.gradient_norm) {
      RefuseSeparable(rows, objective, at.w);
      return at;
    }
    const Eigen::LDLT<MatrixXd> factor(ObjectiveHessian(rows, objective, at.w));
    VectorXd step = factor.solve(-gradient);
    // The Hessian of the Huber loss without a penalty may be singular: then downhill.
    if (!step.allFinite() || step.dot(gradient) >= 0) step = -gradient;
    double scale = 1;
    int halvings = 0;
    for (; halvings < kHalvings; ++halvings, scale /= 2) {
      const VectorXd candidate = at.w + scale * step;
      const double value = ObjectiveValue(rows, objective, candidate);
      // Near the end J is flat to rounding, and the gradient decides.
      const bool flat = std::abs(value - at.value) <= kRoundingOfValue * (1 + std::abs(at.value)) &&
                        ObjectiveGradient(rows, objective, candidate).norm() < at.gradient_norm;
      if (value <= at.value + 1e-4 * scale * step.dot(gradient) || flat) {
        at.w = candidate;
        at.value = value;
        break;
      }
    }
    if (halvings == kHalvings) break;
  }
  throw Error(ErrorCode::kNotConverged,
              fmt::format("the minimiser stopped at a gradient of norm {:.2g} after {} iterations",
                          at.gradient_norm, at.iterations),
              "data that a line separates have no minimum without a penalty: use lambda > 0");
}

MatrixXd Covariance(const LabelledRows& rows, const Objective& objective, const VectorXd& w) {
  const MatrixXd information =
      ObjectiveHessian(rows, objective, w) * static_cast<double>(rows.x.rows());
  const Eigen::LDLT<MatrixXd> factor(information);
  if (!factor.isPositive() || factor.vectorD().minCoeff() <= 0) {
    throw Error(ErrorCode::kNotConverged, "the information matrix is singular",
                "a predictor is a combination of others, or the data are separable");
  }
  return factor.solve(MatrixXd::Identity(w.size(), w.size()));
}

}  // namespace partita::stats::erm
