#include "stats/glm/firth.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace partita::stats::glm {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr int kMostFirthSteps = 200, kMostFirthHalvings = 30;
constexpr double kSquaredFirthStep = 1e-18, kFirthRounding = 1e-10;

// -2 times the penalised log-likelihood.
double PenalisedObjective(const PointSums& sums) {
  return sums.deviance - sums.information.ldlt().vectorD().array().log().sum();
}

}  // namespace

size_t NumThirdMoments(size_t columns) { return columns * (columns + 1) * (columns + 2) / 6; }

VectorXd ThirdMomentsAt(const Rows& rows, const VectorXd& point, const Limits& limits) {
  const Index n = rows.x.rows(), p = rows.x.cols();
  const VectorXd eta = rows.x * point + rows.offset;
  VectorXd slopes(n);
  for (Index i = 0; i < n; ++i) {
    const double mu = 1 / (1 + std::exp(-std::clamp(eta[i], limits.lower, limits.upper)));
    slopes[i] = rows.weight(i) * mu * (1 - mu) * (1 - 2 * mu);
  }
  VectorXd third(static_cast<Index>(NumThirdMoments(static_cast<size_t>(p))));
  Index next = 0;
  for (Index j = 0; j < p; ++j) {
    const VectorXd of_j = slopes.cwiseProduct(rows.x.col(j));
    for (Index k = j; k < p; ++k) {
      const VectorXd of_k = of_j.cwiseProduct(rows.x.col(k));
      for (Index l = k; l < p; ++l) third[next++] = of_k.dot(rows.x.col(l));
    }
  }
  return third;
}

VectorXd FirthScore(const Eigen::MatrixXd& information, const VectorXd& third) {
  const Index p = information.rows();
  const Eigen::MatrixXd inverse = information.ldlt().solve(Eigen::MatrixXd::Identity(p, p));
  VectorXd score = VectorXd::Zero(p);
  Index next = 0;
  // Each moment stands for all orders of its three columns.
  for (Index j = 0; j < p; ++j) {
    for (Index k = j; k < p; ++k) {
      for (Index l = k; l < p; ++l) {
        const double moment = third[next++];
        const auto pair = [&](Index a, Index b) { return (a == b ? 0.5 : 1) * inverse(a, b); };
        score[j] += moment * pair(k, l);
        if (k != j) score[k] += moment * pair(j, l);
        if (l != k) score[l] += moment * pair(j, k);
      }
    }
  }
  return score;
}

Maximum MaximiseFirth(const Law& law, const Rows& rows, const Limits& limits) {
  Maximum maximum;
  maximum.point = VectorXd::Zero(rows.x.cols());
  PointSums sums = SumsAt(law, rows, maximum.point, limits);
  double objective = PenalisedObjective(sums);
  for (maximum.iterations = 1; maximum.iterations < kMostFirthSteps; ++maximum.iterations) {
    const VectorXd third = ThirdMomentsAt(rows, maximum.point, limits);
    VectorXd step = sums.information.ldlt().solve(sums.score + FirthScore(sums.information, third));
    const double length = step.dot(sums.information * step);
    double next = 0;
    for (int halvings = 0; halvings <= kMostFirthHalvings; ++halvings, step /= 2) {
      sums = SumsAt(law, rows, maximum.point + step, limits);
      next = PenalisedObjective(sums);
      if (next <= objective * (1 + kFirthRounding) + kFirthRounding) break;
    }
    maximum.point += step;
    objective = next;
    if (length < kSquaredFirthStep) {
      maximum.converged = sums.outside == 0;
      break;
    }
  }
  return maximum;
}

}  // namespace partita::stats::glm
