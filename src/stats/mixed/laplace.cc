#include "stats/mixed/laplace.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "stats/glm/sums.h"

namespace partita::stats::mixed {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kMostModeSteps = 200, kScoringSteps = 30, kMostFitSteps = 80;
constexpr double kModeStep = 2, kModeTolerance = 1e-13;
// Of the score's differences; columns are in [-1, 1].
constexpr double kDifference = 1e-6;
constexpr double kFirstTau = 0.5, kLeastTau = 1e-4;

struct Moments {
  double mean = 0, weight = 0, third = 0, fourth = 0;  // cumulants of an outcome
};

Moments MomentsAt(const glm::Law& law, double eta) {
  if (law.family == glm::Family::kPoisson) {
    const double mean = std::exp(eta);
    return {mean, mean, mean, mean};
  }
  const double mean = 1 / (1 + std::exp(-eta)), weight = mean * (1 - mean);
  return {mean, weight, weight * (1 - 2 * mean), weight * (1 - 6 * weight)};
}

double LogDensity(const glm::Law& law, double y, double eta) {
  if (law.family == glm::Family::kPoisson) return y * eta - std::exp(eta) - std::lgamma(y + 1);
  return y * eta - std::max(eta, 0.0) - std::log1p(std::exp(-std::abs(eta)));
}

// One group at a point.
class GroupAt {
 public:
  template <typename X, typename Y>
  GroupAt(const glm::Law& law, const X& x, const Y& y, const VectorXd& point,
          const glm::Limits& limits)
      : law_(law), limits_(limits), tau_(point[point.size() - 1]), square_(tau_ * tau_) {
    const VectorXd eta = x * point.head(point.size() - 1);
    const double mode = square_ > 0 ? FindMode(y, eta) : 0;
    const Index p = x.cols();
    residuals_.setZero(p);
    weighted_.setZero(p);
    thirds_.setZero(p);
    weights_.resize(x.rows());
    for (Index i = 0; i < x.rows(); ++i) {
      const double at = Inside(eta[i] + mode);
      if (at != eta[i] + mode) ++outside_;
      const Moments m = MomentsAt(law, at);
      s_ += y[i] - m.mean;
      total_ += m.weight;
      third_ += m.third;
      fourth_ += m.fourth;
      residuals_ += (y[i] - m.mean) * x.row(i).transpose();
      weighted_ += m.weight * x.row(i).transpose();
      thirds_ += m.third * x.row(i).transpose();
      weights_[i] = m.weight;
      log_likelihood_ += LogDensity(law, y[i], at);
    }
    spread_ = 1 + square_ * total_;
    log_likelihood_ -= (square_ * s_ * s_ + std::log(spread_)) / 2;
  }

  double Slope() const {
    return (s_ * s_ - (total_ + square_ * third_ * s_ / spread_) / spread_) / 2;
  }
  VectorXd Score() const {
    const Index p = residuals_.size();
    VectorXd score(p + 1);
    score.head(p) = residuals_ - square_ / (2 * spread_) * Crossed();
    score[p] = 2 * tau_ * Slope();
    return score;
  }
  template <typename X>
  MatrixXd Expected(const X& x) const {
    const Index p = residuals_.size();
    MatrixXd information(p + 1, p + 1);
    information.topLeftCorner(p, p) = x.transpose() * weights_.asDiagonal() * x -
                                      square_ / spread_ * weighted_ * weighted_.transpose();
    information.col(p).head(p) = tau_ / (spread_ * spread_) * Crossed();
    information.row(p).head(p) = information.col(p).head(p).transpose();
    const double v2 = spread_ * spread_;
    information(p, p) = 2 * square_ * total_ * total_ / v2 + square_ * fourth_ / (v2 * v2);
    return information;
  }

  double log_likelihood() const { return log_likelihood_; }
  uint64_t outside() const { return outside_; }

 private:
  double Inside(double eta) const { return std::clamp(eta, limits_.lower, limits_.upper); }
  VectorXd Crossed() const { return thirds_ - square_ * third_ / spread_ * weighted_; }

  // Newton's method on a concave function, by steps of kModeStep at most.
  template <typename Y>
  double FindMode(const Y& y, const VectorXd& eta) const {
    double mode = 0;
    for (int step = 0; step < kMostModeSteps; ++step) {
      double residual = 0, weight = 0;
      for (Index i = 0; i < eta.size(); ++i) {
        const Moments m = MomentsAt(law_, Inside(eta[i] + mode));
        residual += y[i] - m.mean;
        weight += m.weight;
      }
      const double by =
          std::clamp((square_ * residual - mode) / (1 + square_ * weight), -kModeStep, kModeStep);
      mode += by;
      if (std::abs(by) < kModeTolerance * (1 + std::abs(mode))) break;
    }
    return mode;
  }

  const glm::Law& law_;
  const glm::Limits& limits_;
  double tau_ = 0, square_ = 0;
  double log_likelihood_ = 0;
  uint64_t outside_ = 0;
  double s_ = 0, total_ = 0, third_ = 0, fourth_ = 0, spread_ = 1;  // s, W, D, K, v
  VectorXd residuals_, weighted_, thirds_, weights_;                // X'r, X'w, X'w'; w
};

template <typename X, typename Y>
MatrixXd Observed(const glm::Law& law, const X& x, const Y& y, const VectorXd& point,
                  const glm::Limits& limits) {
  const Index q = point.size();
  MatrixXd information(q, q);
  for (Index j = 0; j < q; ++j) {
    VectorXd above = point, below = point;
    above[j] += kDifference;
    below[j] -= kDifference;
    information.col(j) =
        (GroupAt(law, x, y, below, limits).Score() - GroupAt(law, x, y, above, limits).Score()) /
        (2 * kDifference);
  }
  return (information + information.transpose()) / 2;
}

LaplaceSums SitesAt(const glm::Law& law, std::span<const GroupedRows> sites, const VectorXd& point,
                    Information information, const glm::Limits& limits) {
  LaplaceSums sums = LaplaceAt(law, sites.front(), point, information, limits);
  for (size_t s = 1; s < sites.size(); ++s)
    sums += LaplaceAt(law, sites[s], point, information, limits);
  return sums;
}

// Coefficients where those that a generalised linear model's fit begins with lead.
VectorXd Start(const glm::Law& law, std::span<const GroupedRows> sites, const glm::Limits& limits) {
  const Index p = sites.front().x.cols();
  VectorXd weighted = VectorXd::Zero(p);
  MatrixXd information = MatrixXd::Zero(p, p);
  for (const GroupedRows& site : sites) {
    glm::Rows rows;
    rows.x = site.x;
    rows.y = site.y;
    rows.offset = VectorXd::Zero(site.y.size());
    const glm::FirstSums first = glm::FirstSumsOf(law, rows, limits);
    weighted += first.weighted;
    information += first.information;
  }
  return information.ldlt().solve(weighted);
}

// tau is held where it is 0.
void HoldTau(LaplaceSums& sums) {
  const Index p = sums.score.size() - 1;
  sums.score[p] = 0;
  sums.information.row(p).setZero();
  sums.information.col(p).setZero();
  sums.information(p, p) = 1;
}

}  // namespace

LaplaceSums& LaplaceSums::operator+=(const LaplaceSums& other) {
  score += other.score;
  information += other.information;
  log_likelihood += other.log_likelihood;
  slope += other.slope;
  outside += other.outside;
  return *this;
}

LaplaceSums LaplaceAt(const glm::Law& law, const GroupedRows& rows, const VectorXd& point,
                      Information information, const glm::Limits& limits) {
  const Index q = point.size();
  LaplaceSums sums{VectorXd::Zero(q), MatrixXd::Zero(q, q)};
  Index first = 0;
  for (const Index size : rows.sizes) {
    const auto x = rows.x.middleRows(first, size);
    const auto y = rows.y.segment(first, size);
    const GroupAt group(law, x, y, point, limits);
    sums.score += group.Score();
    sums.information += information == Information::kExpected ? group.Expected(x)
                                                              : Observed(law, x, y, point, limits);
    sums.log_likelihood += group.log_likelihood();
    sums.slope += group.Slope();
    sums.outside += group.outside();
    first += size;
  }
  return sums;
}

LaplaceFit FitLaplace(const glm::Law& law, std::span<const GroupedRows> sites,
                      const glm::Limits& limits) {
  const Index p = sites.front().x.cols();
  LaplaceFit fit;
  fit.point.resize(p + 1);
  fit.point << Start(law, sites, limits), kFirstTau;
  // Scoring, then Newton's method, each by steps that are halved until the likelihood rises.
  for (int step = 0; step < kMostFitSteps && !fit.converged; ++step) {
    const bool newton = step > kScoringSteps;
    const Information kind = newton ? Information::kObserved : Information::kExpected;
    double& tau = fit.point[p];
    LaplaceSums sums = SitesAt(law, sites, fit.point, kind, limits);
    const double before = sums.log_likelihood;
    if (tau == 0) HoldTau(sums);
    const VectorXd direction = sums.information.ldlt().solve(sums.score);
    const double size = direction.dot(sums.information * direction);
    double part = 1;
    VectorXd next;
    for (; part > 1e-6; part /= 2) {
      next = fit.point + part * direction;
      // A step of the variance.
      if (!newton) {
        const double square = tau * tau + 2 * part * tau * direction[p];
        next[p] = square > 0 ? std::sqrt(square) : tau / 4;
      }
      next[p] = std::abs(next[p]);
      if (next[p] < kLeastTau) next[p] = 0;
      const LaplaceSums at = SitesAt(law, sites, next, Information::kExpected, limits);
      if (at.log_likelihood >= before - 1e-9 * (1 + std::abs(before))) break;
    }
    fit.point = next;
    if (newton || tau == 0) fit.converged = std::abs(size) < 1e-18;
  }
  LaplaceSums sums = SitesAt(law, sites, fit.point, Information::kObserved, limits);
  fit.log_likelihood = sums.log_likelihood;
  fit.singular = fit.point[p] == 0;
  if (fit.singular) HoldTau(sums);
  const Eigen::LDLT<MatrixXd> ldlt(sums.information);
  fit.converged = fit.converged && sums.outside == 0 && ldlt.isPositive() &&
                  ldlt.vectorD().minCoeff() > 0 && !(fit.singular && sums.slope > 0);
  const MatrixXd inverse = ldlt.solve(MatrixXd::Identity(p + 1, p + 1));
  fit.covariance = inverse.topLeftCorner(p, p);
  fit.standard_errors = inverse.diagonal().cwiseMax(0).cwiseSqrt();
  if (fit.singular) fit.standard_errors[p] = 0;
  return fit;
}

}  // namespace partita::stats::mixed
