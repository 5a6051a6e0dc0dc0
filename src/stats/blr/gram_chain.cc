#include "stats/blr/gram_chain.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace partita::stats::blr {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The conditional log density of a step t away from the current entry.
struct Conditional {
  bool diagonal = false;
  double offset = 0;  // current entry - noised entry
  double half_precision = 0;
  double power = 0;  // of the determinant
  double g_ii = 0, g_jj = 0, g_ij = 0;
  double s_ii = 0, s_jj = 0, s_ij = 0;

  double operator()(double t) const {
    const double away = offset + t;
    double ratio, fall;
    if (diagonal) {
      ratio = 1 + t * g_ii;
      if (!(ratio > 0)) return -kInfinity;
      fall = t * s_ii / ratio;
    } else {
      const double root = 1 + t * g_ij;
      ratio = root * root - t * t * g_ii * g_jj;
      if (!(ratio > 0) || !(root > 0)) return -kInfinity;
      fall = (2 * (t + t * t * g_ij) * s_ij - t * t * (g_jj * s_ii + g_ii * s_jj)) / ratio;
    }
    return -away * away * half_precision - power * std::log(ratio) + 0.5 * fall;
  }
};

// One step of slice sampling with stepping out, from 0, within (lowest, highest).
double Slice(const Conditional& density, double width, double lowest, double highest,
             Variates& variates) {
  const double level = density(0) - variates.Exponential();
  double lower = std::max(lowest, -width * variates.Uniform());
  double upper = std::min(highest, lower + width);
  while (lower > lowest && density(lower) > level) lower = std::max(lowest, lower - width);
  while (upper < highest && density(upper) > level) upper = std::min(highest, upper + width);
  for (;;) {
    const double t = lower + (upper - lower) * variates.Uniform();
    if (density(t) > level) return t;
    if (upper - lower < 1e-14 * width) return 0;
    (t < 0 ? lower : upper) = t;
  }
}

Eigen::MatrixXd Start(const GramTarget& target) {
  const Eigen::MatrixXd& noised = target.noised;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(noised);
  const double floor = std::min(std::sqrt(target.noise_variance), 0.02 * target.max_diagonal);
  const Eigen::VectorXd values = eigen.eigenvalues().cwiseMax(floor);
  Eigen::MatrixXd start =
      eigen.eigenvectors() * values.asDiagonal() * eigen.eigenvectors().transpose();
  Eigen::VectorXd shrink = Eigen::VectorXd::Ones(start.rows());
  for (Eigen::Index i = 0; i < start.rows(); ++i) {
    if (i == 0 && target.fixed_first) {
      shrink(i) = std::sqrt(noised(0, 0) / start(0, 0));
    } else {
      shrink(i) = std::min(1.0, std::sqrt(0.9 * target.max_diagonal / start(i, i)));
    }
  }
  start = shrink.asDiagonal() * start * shrink.asDiagonal();
  return start;
}

}  // namespace

GramChain::GramChain(const GramTarget& target, const Eigen::VectorXd& scale)
    : target_(target), scale_(scale), gram_(Start(target)) {
  if (!(target.noise_variance > 0) || !(target.max_diagonal > 0)) {
    throw Error(ErrorCode::kInternal, "a chain over X'X needs noise and a bound");
  }
  Refresh();
}

std::vector<GramChain::Entry> GramChain::Entries() const {
  std::vector<Entry> entries;
  for (Eigen::Index i = 0; i < gram_.rows(); ++i) {
    for (Eigen::Index j = i; j < gram_.rows(); ++j) {
      if (j > 0 || !target_.fixed_first) entries.emplace_back(i, j);
    }
  }
  return entries;
}

void GramChain::Redraw(std::span<const Entry> entries, Variates& variates) {
  for (const auto& [i, j] : entries) RedrawOne(i, j, variates);
}

void GramChain::RedrawOne(Eigen::Index i, Eigen::Index j, Variates& variates) {
  const auto column_i = inverse_.col(i), column_j = inverse_.col(j);
  Conditional density;
  density.diagonal = i == j;
  density.offset = gram_(i, j) - target_.noised(i, j);
  density.half_precision = 0.5 / target_.noise_variance;
  density.power = 0.5 * (target_.degrees + static_cast<double>(gram_.rows()) + 1);
  density.g_ii = inverse_(i, i);
  density.g_jj = inverse_(j, j);
  density.g_ij = inverse_(i, j);
  density.s_ii = (column_i.array().square() * scale_.array()).sum();
  const double noise_width = 4 * std::sqrt(target_.noise_variance);
  double lowest, highest, width;
  if (i == j) {
    lowest = -1 / density.g_ii;
    highest = target_.max_diagonal - gram_(i, i);
    width = std::min(noise_width, 2 * gram_(i, i));
  } else {
    density.s_jj = (column_j.array().square() * scale_.array()).sum();
    density.s_ij = (column_i.array() * column_j.array() * scale_.array()).sum();
    const double root = std::sqrt(density.g_ii * density.g_jj);
    lowest = -1 / (root + density.g_ij);
    highest = 1 / (root - density.g_ij);
    width = std::min(noise_width, highest - lowest);
  }
  const double step = Slice(density, width, lowest, highest, variates);
  if (step != 0) Move(i, j, step);
}

// Rank one or two, column by column and without temporary matrices: this is where a sweep spends
// its time.
void GramChain::Move(Eigen::Index i, Eigen::Index j, double step) {
  const Eigen::Index p = inverse_.rows();
  column_i_ = inverse_.col(i);
  gram_(i, j) += step;
  if (i == j) {
    const double factor = step / (1 + step * column_i_(i));
    for (Eigen::Index c = 0; c < p; ++c) inverse_.col(c) -= factor * column_i_(c) * column_i_;
    return;
  }
  gram_(j, i) = gram_(i, j);
  column_j_ = inverse_.col(j);
  const double g_ij = column_i_(j), root = 1 + step * g_ij;
  const double ratio = root * root - step * step * column_i_(i) * column_j_(j);
  const double m_ii = -step * step * column_j_(j) / ratio;
  const double m_jj = -step * step * column_i_(i) / ratio;
  const double m_ij = step * root / ratio;
  for (Eigen::Index c = 0; c < p; ++c) {
    const double along_i = m_ii * column_i_(c) + m_ij * column_j_(c);
    const double along_j = m_ij * column_i_(c) + m_jj * column_j_(c);
    inverse_.col(c) -= along_i * column_i_ + along_j * column_j_;
  }
}

void GramChain::Refresh() {
  const Eigen::LLT<Eigen::MatrixXd> llt(gram_);
  if (llt.info() != Eigen::Success) {
    throw Error(ErrorCode::kNotConverged, "X'X lost its definiteness to rounding",
                "drop collinear columns, or widen the scale of the prior of X'X");
  }
  inverse_ = llt.solve(Eigen::MatrixXd::Identity(gram_.rows(), gram_.cols()));
  inverse_ = (0.5 * (inverse_ + inverse_.transpose())).eval();
}

void GramChain::Stretch(double factor) {
  Eigen::VectorXd roots = Eigen::VectorXd::Constant(gram_.rows(), std::sqrt(factor));
  if (target_.fixed_first) roots(0) = 1;
  gram_ = roots.asDiagonal() * gram_ * roots.asDiagonal();
  scale_ = scale_.cwiseProduct(roots.cwiseAbs2());
  const Eigen::VectorXd inverse_roots = roots.cwiseInverse();
  inverse_ = inverse_roots.asDiagonal() * inverse_ * inverse_roots.asDiagonal();
}

double GramChain::LogNoiseDensity() const {
  double sum = 0;
  for (Eigen::Index i = 0; i < gram_.rows(); ++i) {
    for (Eigen::Index j = i; j < gram_.rows(); ++j) {
      const double away = gram_(i, j) - target_.noised(i, j);
      sum += away * away;
    }
  }
  return -0.5 * sum / target_.noise_variance;
}

bool GramChain::WithinBounds() const {
  return gram_.diagonal().tail(gram_.rows() - (target_.fixed_first ? 1 : 0)).maxCoeff() <=
         target_.max_diagonal;
}

}  // namespace partita::stats::blr
