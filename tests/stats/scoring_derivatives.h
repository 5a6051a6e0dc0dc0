// Derivatives of a discrepancy as matrices, with something near the inverse covariances in their
// place: those of stats/sem/objective.h where it is exact.
//
// F = sum_s w_s (log|R| + tr(T R^-1)), twice that of objective.h, where R is the implied covariance
// in units of given deviations, T the sample's second moment about the implied mean, and r its
// distance. With P for R^-1, D = T - R and indices for derivatives,
//   F_k  = -tr(P R_k P D) - 2 r' P mu_k
//   I_kl = tr(P R_k P R_l) + 2 mu_k' P mu_l
//   H_kl = I_kl + 2 tr(P R_k P R_l P D) - tr(P R_kl P D)
//          + 2 r' P R_k P mu_l + 2 r' P R_l P mu_k - 2 r' P mu_kl.
#pragma once

#include <Eigen/Core>
#include <Eigen/LU>
#include <cstddef>
#include <vector>

#include "stats/sem/objective.h"

namespace partita::stats::scoring {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// One sample at x, in units of `deviations` of the model's observed variables.
struct SampleMoments {
  MatrixXd covariance;  // R
  MatrixXd second;      // T
  VectorXd distance;    // r
};

inline std::vector<int> ObservedOf(const SemObjective& objective, const GroupSample& sample) {
  if (!sample.observed.empty()) return sample.observed;
  std::vector<int> all;
  for (int j = 0; j < objective.model.num_observed; ++j) all.push_back(j);
  return all;
}

inline std::vector<SampleMoments> MomentsAt(const SemObjective& objective,
                                            const VectorXd& deviations, const VectorXd& x) {
  const std::vector<ImpliedMoments> implied = Imply(objective.model, x);
  std::vector<SampleMoments> all;
  for (const GroupSample& sample : objective.samples) {
    const std::vector<int> observed = ObservedOf(objective, sample);
    const VectorXd units = deviations(observed).cwiseInverse();
    const auto scaled = [&](const MatrixXd& matrix) {
      return MatrixXd(units.asDiagonal() * matrix * units.asDiagonal());
    };
    SampleMoments at;
    at.covariance = scaled(implied[sample.group].covariance(observed, observed));
    at.second = scaled(sample.covariance);
    at.distance = VectorXd::Zero(units.size());
    if (objective.model.meanstructure) {
      const VectorXd mean = implied[sample.group].mean(observed);
      at.distance = units.cwiseProduct(sample.mean - mean);
      at.second += at.distance * at.distance.transpose();
    }
    all.push_back(at);
  }
  return all;
}

struct Derivatives {
  VectorXd gradient;
  MatrixXd expected, observed;
};

// How the covariance and mean of all variables of a group move.
struct GroupDerivatives {
  std::vector<MatrixXd> covariance, covariances;  // by parameter; by pair k * n + l
  std::vector<VectorXd> mean, means;
};

inline GroupDerivatives DerivativesOf(const RamModel& model, const RamGroup& group,
                                      const VectorXd& x) {
  const Index v = model.num_variables;
  const auto n = static_cast<std::size_t>(model.num_parameters);
  std::vector<MatrixXd> a(n, MatrixXd::Zero(v, v)), s = a;
  std::vector<VectorXd> m(n, VectorXd::Zero(v));
  for (const RamCell& cell : group.cells) {
    const auto k = static_cast<std::size_t>(cell.parameter);
    if (cell.matrix == RamMatrix::kRegression) a[k](cell.row, cell.column) = cell.factor;
    if (cell.matrix == RamMatrix::kCovariance)
      s[k](cell.row, cell.column) = s[k](cell.column, cell.row) = cell.factor;
    if (cell.matrix == RamMatrix::kMean) m[k](cell.row) = cell.factor;
  }
  const RamMatrices at = FillMatrices(group, x);
  const MatrixXd b = (MatrixXd::Identity(v, v) - at.regression).inverse();
  const MatrixXd sigma = b * at.covariance * b.transpose();
  const bool means = model.meanstructure;
  const VectorXd eta = means ? VectorXd(b * at.mean) : VectorXd::Zero(v);
  const auto twice = [](const MatrixXd& half) { return MatrixXd(half + half.transpose()); };
  GroupDerivatives moves;
  for (std::size_t k = 0; k < n; ++k) {
    moves.covariance.push_back(twice(b * a[k] * sigma) + b * s[k] * b.transpose());
    moves.mean.push_back(b * (a[k] * eta + m[k]));
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t l = 0; l < n; ++l) {
      const MatrixXd down = b * a[l] * b;
      moves.covariances.push_back(twice(down * a[k] * sigma + b * a[k] * moves.covariance[l] +
                                        down * s[k] * b.transpose()));
      moves.means.push_back(down * (a[k] * eta + m[k]) + b * a[k] * moves.mean[l]);
    }
  }
  return moves;
}

inline Derivatives DerivativesBy(const SemObjective& objective, const VectorXd& deviations,
                                 const std::vector<MatrixXd>& inverses, const VectorXd& x) {
  const RamModel& model = objective.model;
  const Index n = model.num_parameters;
  const std::vector<SampleMoments> moments = MomentsAt(objective, deviations, x);
  std::vector<GroupDerivatives> groups;
  for (const RamGroup& group : model.groups) groups.push_back(DerivativesOf(model, group, x));
  Derivatives sum{VectorXd::Zero(n), MatrixXd::Zero(n, n), MatrixXd::Zero(n, n)};
  for (std::size_t s = 0; s < objective.samples.size(); ++s) {
    const GroupSample& sample = objective.samples[s];
    const GroupDerivatives& moves = groups[sample.group];
    const std::vector<int> observed = ObservedOf(objective, sample);
    const VectorXd units = deviations(observed).cwiseInverse();
    const MatrixXd scale = units * units.transpose(), &p = inverses[s];
    const MatrixXd excess = p * (moments[s].second - moments[s].covariance);
    const MatrixXd weights = excess * p;
    const VectorXd pull = p * moments[s].distance;
    std::vector<MatrixXd> by_p, by_excess;
    std::vector<VectorXd> mean, of_mean;
    for (std::size_t k = 0; k < moves.mean.size(); ++k) {
      const MatrixXd move = moves.covariance[k](observed, observed).cwiseProduct(scale);
      mean.push_back(units.cwiseProduct(moves.mean[k](observed)));
      of_mean.push_back(p * mean[k]);
      by_p.push_back(p * move);
      by_excess.push_back(excess * by_p[k]);
      sum.gradient(static_cast<Index>(k)) -=
          sample.weight * (weights.cwiseProduct(move).sum() + 2 * pull.dot(mean[k]));
    }
    for (std::size_t k = 0; k < mean.size(); ++k) {
      for (std::size_t l = 0; l < mean.size(); ++l) {
        const std::size_t pair = k * mean.size() + l;
        const double expected = by_p[k].cwiseProduct(by_p[l].transpose()).sum() +  //
                                2 * mean[k].dot(of_mean[l]);
        const MatrixXd move = moves.covariances[pair](observed, observed).cwiseProduct(scale);
        const VectorXd bend = units.cwiseProduct(moves.means[pair](observed));
        const double curved =
            2 * by_excess[k].cwiseProduct(by_p[l].transpose()).sum() -
            weights.cwiseProduct(move).sum() + 2 * moments[s].distance.dot(by_p[k] * of_mean[l]) +
            2 * moments[s].distance.dot(by_p[l] * of_mean[k]) - 2 * pull.dot(bend);
        const auto i = static_cast<Index>(k), j = static_cast<Index>(l);
        sum.expected(i, j) += sample.weight * expected;
        sum.observed(i, j) += sample.weight * (expected + curved);
      }
    }
  }
  return sum;
}

}  // namespace partita::stats::scoring
