#include "stats/glm/lasso.h"

#include <algorithm>
#include <cmath>

namespace partita::stats::glm {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr int kMostSweeps = 20000, kMostLassoSteps = 100, kMostLassoHalvings = 40;
constexpr double kSameCoordinate = 1e-14, kShortLassoStep = 1e-9;

double SoftThreshold(double value, double by) {
  return std::copysign(std::max(std::abs(value) - by, 0.0), value);
}

}  // namespace

VectorXd LassoPoint(const Eigen::MatrixXd& information, const VectorXd& score, const VectorXd& from,
                    const VectorXd& penalty) {
  VectorXd point = from, gradient = score;  // of the quadratic model, at the point
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double moved = 0;
    for (Index j = 0; j < point.size(); ++j) {
      const double curvature = information(j, j);
      if (!(curvature > 0)) continue;
      const double next = SoftThreshold(gradient[j] + curvature * point[j], penalty[j]) / curvature;
      const double step = next - point[j];
      if (step == 0) continue;
      gradient -= step * information.col(j);
      point[j] = next;
      moved = std::max(moved, std::abs(step) / (1 + std::abs(next)));
    }
    if (moved < kSameCoordinate) break;
  }
  return point;
}

uint64_t NumSelected(const VectorXd& point) {
  return static_cast<uint64_t>((point.array() != 0).count());
}

double LassoBic(const Law& law, double count, double deviance, uint64_t selected) {
  const double fit =
      law.family == Family::kGaussian ? count * std::log(deviance / count) : deviance;
  return fit + std::log(count) * static_cast<double>(selected);
}

LassoFit FitLasso(const Law& law, const Rows& rows, const Limits& limits, const VectorXd& penalty) {
  const auto objective = [&](const PointSums& sums, const VectorXd& at) {
    return sums.deviance / 2 + penalty.dot(at.cwiseAbs());
  };
  LassoFit fit;
  fit.point = VectorXd::Zero(penalty.size());
  PointSums sums = SumsAt(law, rows, fit.point, limits);
  for (; fit.iterations < kMostLassoSteps && !fit.converged; ++fit.iterations) {
    VectorXd step = LassoPoint(sums.information, sums.score, fit.point, penalty) - fit.point;
    fit.converged = std::sqrt(std::max(0.0, step.dot(sums.information * step))) < kShortLassoStep;
    PointSums next = SumsAt(law, rows, fit.point + step, limits);
    const double before = objective(sums, fit.point);
    for (int k = 0; k < kMostLassoHalvings &&
                    objective(next, fit.point + step) > before + 1e-12 * (1 + std::abs(before));
         ++k) {
      step /= 2;
      next = SumsAt(law, rows, fit.point + step, limits);
    }
    fit.point += step;
    sums = std::move(next);
  }
  fit.deviance = sums.deviance;
  return fit;
}

}  // namespace partita::stats::glm
