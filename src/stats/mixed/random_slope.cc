#include "stats/mixed/random_slope.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

namespace partita::stats::mixed {
namespace {

using Eigen::Index;
using Eigen::Matrix2d;
using Eigen::Matrix2Xd;
using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::VectorXd;

constexpr size_t kOfGroups = 3;  // log s_0 / sigma, log s_1 / sigma, atanh rho

Matrix2d Symmetric(double first, double between, double second) {
  Matrix2d matrix;
  matrix << first, between, between, second;
  return matrix;
}

// G, its root and its derivatives by the three numbers above.
struct Covariance {
  Matrix2d root;
  std::array<Matrix2d, kOfGroups> first;
  std::array<std::array<Matrix2d, kOfGroups>, kOfGroups> second;
};
Covariance CovarianceAt(const VectorXd& psi) {
  const double intercept = std::exp(psi[0] - psi[3]), slope = std::exp(psi[1] - psi[3]),
               rho = std::tanh(psi[2]), rest = 1 - rho * rho, product = intercept * slope,
               covariance = rho * product;
  Covariance of;
  of.root << intercept, 0, rho * slope, slope * std::sqrt(rest);
  const double v0 = intercept * intercept, v1 = slope * slope;
  of.first = {Symmetric(2 * v0, covariance, 0), Symmetric(0, covariance, 2 * v1),
              Symmetric(0, rest * product, 0)};
  of.second[0] = {Symmetric(4 * v0, covariance, 0), Symmetric(0, covariance, 0), of.first[2]};
  of.second[1] = {of.second[0][1], Symmetric(0, covariance, 4 * v1), of.first[2]};
  of.second[2] = {of.first[2], of.first[2], Symmetric(0, -2 * rho * rest * product, 0)};
  return of;
}

size_t Pair(size_t k, size_t l) {
  const size_t low = std::min(k, l), high = std::max(k, l);
  return low * 4 - low * (low + 1) / 2 + high;
}

// psi over sigma, by psi: log s_0 / sigma = log s_0 - log sigma.
Eigen::Matrix4d Relative() {
  Eigen::Matrix4d relative = Eigen::Matrix4d::Identity();
  relative(0, 3) = relative(1, 3) = -1;
  return relative;
}

// Sums over groups, of the numbers over sigma.
class Added {
 public:
  Added(const SlopeSums& sums, const VectorXd& point, bool reml, Information information)
      : p_(sums.xx.rows()),
        reml_(reml),
        observed_(information == Information::kObserved),
        b_(point.head(p_)),
        square_(std::exp(2 * point[p_ + 3])),
        covariance_(CovarianceAt(point.tail(kDeviations))),
        fixed_(sums.xx),
        score_(sums.xy - sums.xx * b_),
        quadratic_(sums.yy - 2 * b_.dot(sums.xy) + b_.dot(sums.xx * b_)),
        crossed_(MatrixXd::Zero(p_, kOfGroups)),
        first_(kDeviations, MatrixXd::Zero(p_, p_)),
        second_(kPairs, MatrixXd::Zero(p_, p_)) {
    for (const GroupMoments& group : sums.groups) Add(group);
    Finish(sums.rows);
  }

  SlopeAt Take() const {
    const Index q = p_ + kDeviations;
    const Eigen::Matrix4d relative = Relative();
    SlopeAt at;
    at.log_likelihood = log_likelihood_;
    at.score.resize(q);
    at.score << score_, relative.transpose() * slopes_;
    at.information.resize(q, q);
    at.information.topLeftCorner(p_, p_) = fixed_;
    const MatrixXd crossed = all_crossed_ * relative;
    at.information.topRightCorner(p_, kDeviations) = crossed;
    at.information.bottomLeftCorner(kDeviations, p_) = crossed.transpose();
    at.information.bottomRightCorner(kDeviations, kDeviations) =
        relative.transpose() * information_ * relative;
    if (!reml_) return at;
    at.first.assign(kDeviations, MatrixXd::Zero(p_, p_));
    at.second.assign(kPairs, MatrixXd::Zero(p_, p_));
    for (size_t k = 0; k < 4; ++k) {
      for (size_t i = 0; i < 4; ++i) {
        const double of_first = relative(static_cast<Index>(i), static_cast<Index>(k));
        if (of_first == 0) continue;
        at.first[k] += of_first * first_[i];
        for (size_t l = k; l < 4; ++l) {
          for (size_t j = 0; j < 4; ++j) {
            const double of_second = relative(static_cast<Index>(j), static_cast<Index>(l));
            if (of_second != 0) at.second[Pair(k, l)] += of_first * of_second * second_[Pair(i, j)];
          }
        }
      }
    }
    return at;
  }

 private:
  void Add(const GroupMoments& group) {
    const Matrix2d& root = covariance_.root;
    const Matrix2d inner = Matrix2d::Identity() + root.transpose() * group.zz * root;
    const Matrix2d k = root * inner.inverse() * root.transpose();
    const Matrix2d rest = Matrix2d::Identity() - group.zz * k, m = rest * group.zz;
    const Vector2d residual = group.zy - group.zx * b_, u = rest * residual;
    const Matrix2Xd t = rest * group.zx;
    log_determinant_ += std::log(inner.determinant());
    fixed_ -= group.zx.transpose() * (k * group.zx);
    score_ -= group.zx.transpose() * (k * residual);
    quadratic_ -= residual.dot(k * residual);
    for (size_t i = 0; i < kOfGroups; ++i) {
      const Index row = static_cast<Index>(i);
      const Matrix2d& by_i = covariance_.first[i];
      const double explained = u.dot(by_i * u) / square_, trace = (m * by_i).trace();
      slopes_[row] += (explained - trace) / 2;
      information_(row, 3) += observed_ ? explained : trace;
      if (observed_) crossed_.col(row) += t.transpose() * (by_i * u) / square_;
      if (reml_) first_[i] -= t.transpose() * (by_i * t) / square_;
      for (size_t j = i; j < kOfGroups; ++j) {
        const Matrix2d& by_j = covariance_.first[j];
        const Matrix2d& twice = covariance_.second[i][j];
        const Matrix2d both = by_i * m * by_j;
        const double expected = (m * both).trace() / 2;
        double& place = information_(row, static_cast<Index>(j));
        place += observed_ ? (u.dot((2 * both - twice) * u) / square_ + (m * twice).trace()) / 2 -
                                 expected
                           : expected;
        if (!reml_) continue;
        const Matrix2d symmetric = both + both.transpose();
        const Matrix2d of = observed_ ? Matrix2d(symmetric - twice) : Matrix2d(-symmetric);
        second_[Pair(i, j)] += t.transpose() * (of * t) / square_;
      }
    }
  }

  // By log sigma, where G is held: V is sigma^2 H.
  void Finish(double rows) {
    log_likelihood_ = -(rows * std::log(2 * std::numbers::pi * square_) + log_determinant_ +
                        quadratic_ / square_) /
                      2;
    fixed_ /= square_;
    score_ /= square_;
    slopes_[3] = quadratic_ / square_ - rows;
    information_(3, 3) = 2 * (observed_ ? quadratic_ / square_ : rows);
    information_ = Eigen::Matrix4d(information_.selfadjointView<Eigen::Upper>());
    all_crossed_.setZero(p_, kDeviations);
    if (observed_) {
      all_crossed_.leftCols(kOfGroups) = crossed_;
      all_crossed_.col(3) = 2 * score_;
    }
    if (!reml_) return;
    first_[3] = -2 * fixed_;
    for (size_t k = 0; k < kOfGroups; ++k) second_[Pair(k, 3)] = (observed_ ? -2 : 4) * first_[k];
    second_[Pair(3, 3)] = (observed_ ? 4 : -8) * fixed_;
  }

  Index p_;
  bool reml_, observed_;
  VectorXd b_;
  double square_;  // sigma^2
  Covariance covariance_;
  MatrixXd fixed_;
  VectorXd score_;
  double quadratic_, log_determinant_ = 0, log_likelihood_ = 0;
  Eigen::Vector4d slopes_ = Eigen::Vector4d::Zero();
  Eigen::Matrix4d information_ = Eigen::Matrix4d::Zero();
  MatrixXd crossed_, all_crossed_;
  std::vector<MatrixXd> first_, second_;
};

}  // namespace

SlopeSums SumSlopes(const MatrixXd& x, const VectorXd& y, std::span<const uint32_t> clusters,
                    Index slope) {
  SlopeSums sums;
  sums.xx = x.transpose() * x;
  sums.xy = x.transpose() * y;
  sums.yy = y.squaredNorm();
  sums.rows = static_cast<double>(x.rows());
  std::map<uint32_t, GroupMoments> groups;
  for (Index i = 0; i < x.rows(); ++i) {
    GroupMoments& group = groups[clusters[static_cast<size_t>(i)]];
    if (group.rows == 0) {
      group.zz.setZero();
      group.zx.setZero(2, x.cols());
      group.zy.setZero();
    }
    const Vector2d z(1, x(i, slope));
    ++group.rows;
    group.zz += z * z.transpose();
    group.zx += z * x.row(i);
    group.zy += y[i] * z;
  }
  for (auto& [number, group] : groups) sums.groups.push_back(std::move(group));
  return sums;
}

SlopeAt& SlopeAt::operator+=(const SlopeAt& other) {
  score += other.score;
  information += other.information;
  log_likelihood += other.log_likelihood;
  for (size_t k = 0; k < first.size(); ++k) first[k] += other.first[k];
  for (size_t k = 0; k < second.size(); ++k) second[k] += other.second[k];
  return *this;
}

SlopeAt SlopesAt(const SlopeSums& sums, const VectorXd& point, Criterion criterion,
                 Information information) {
  return Added(sums, point, criterion == Criterion::kReml, information).Take();
}

void AddReml(SlopeAt& at, Information information) {
  const Index p = at.first.front().rows();
  const Eigen::PartialPivLU<MatrixXd> factor(at.information.topLeftCorner(p, p));
  std::vector<MatrixXd> solved;
  for (const MatrixXd& first : at.first) solved.push_back(factor.solve(first));
  const double sign = information == Information::kObserved ? -1 : 1;
  for (size_t k = 0; k < 4; ++k) {
    const Index row = p + static_cast<Index>(k);
    at.score[row] -= solved[k].trace() / 2;
    for (size_t l = k; l < 4; ++l) {
      const Index column = p + static_cast<Index>(l);
      const double added =
          (factor.solve(at.second[Pair(k, l)]).trace() + sign * (solved[k] * solved[l]).trace()) /
          2;
      at.information(row, column) += added;
      if (row != column) at.information(column, row) += added;
    }
  }
  at.log_likelihood -= std::log(std::abs(factor.determinant())) / 2;
}

}  // namespace partita::stats::mixed
