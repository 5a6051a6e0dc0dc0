#include "stats/blr/posterior.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>

#include "base/error.h"

namespace partita::stats::blr {
namespace {

PlainPosterior Solve(const Eigen::MatrixXd& gram, const Eigen::VectorXd& cross,
                     const PlainPrior& prior, double noise_variance) {
  Eigen::MatrixXd precision = gram / noise_variance;
  precision.diagonal() += prior.variance.cwiseInverse();
  const Eigen::LLT<Eigen::MatrixXd> llt(precision);
  if (llt.info() != Eigen::Success) {
    throw Error(ErrorCode::kNotConverged,
                "the noise left the posterior precision without a positive definite matrix",
                "repair X'X, or use the noise-aware posterior");
  }
  PlainPosterior posterior;
  posterior.mean = llt.solve(cross / noise_variance + prior.mean.cwiseQuotient(prior.variance));
  posterior.covariance = llt.solve(Eigen::MatrixXd::Identity(gram.rows(), gram.cols()));
  posterior.noise_variance = noise_variance;
  return posterior;
}

}  // namespace

Eigen::MatrixXd RepairGram(const Eigen::MatrixXd& gram, Repair repair) {
  if (repair == Repair::kNone) return gram;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(gram);
  Eigen::VectorXd values = eigen.eigenvalues();
  if (repair == Repair::kClip) {
    values = values.cwiseMax(0);
  } else {
    values = values.cwiseAbs();
  }
  return eigen.eigenvectors() * values.asDiagonal() * eigen.eigenvectors().transpose();
}

PlainPrior ScaledPrior(const Design& design, double mean, double variance,
                       std::optional<double> noise_variance) {
  const auto p = static_cast<Eigen::Index>(design.num_coefficients());
  PlainPrior prior{Eigen::VectorXd(p), Eigen::VectorXd(p), {}};
  const Eigen::Index first = design.intercept ? 1 : 0;
  for (Eigen::Index j = 0; j < p; ++j) {
    const double bound = j < first ? 1 : design.features[static_cast<size_t>(j - first)].bound;
    const double ratio = bound / design.target.bound;
    prior.mean(j) = mean * ratio;
    prior.variance(j) = variance * ratio * ratio;
  }
  if (noise_variance)
    prior.noise_variance = *noise_variance / (design.target.bound * design.target.bound);
  return prior;
}

PlainPosterior FitPlain(const Statistics& statistics, const PlainPrior& prior, Repair repair) {
  if (!(prior.variance.minCoeff() > 0) || (prior.noise_variance && !(*prior.noise_variance > 0))) {
    throw Error(ErrorCode::kBadInput, "a prior variance is not positive",
                "give positive variances");
  }
  const Eigen::MatrixXd gram = RepairGram(statistics.gram, repair);
  if (prior.noise_variance) return Solve(gram, statistics.cross, prior, *prior.noise_variance);
  const double mean_square = std::max(statistics.target_square / statistics.num_rows, 1e-12);
  const PlainPosterior first = Solve(gram, statistics.cross, prior, mean_square);
  const double residual = statistics.target_square - 2 * first.mean.dot(statistics.cross) +
                          first.mean.dot(gram * first.mean);
  return Solve(gram, statistics.cross, prior,
               std::max(residual / statistics.num_rows, 1e-12 * mean_square));
}

Interval NormalInterval(double mean, double stddev, double level) {
  const double reach = std::sqrt(2.0) * boost::math::erf_inv(level) * stddev;
  return {mean - reach, mean + reach};
}

}  // namespace partita::stats::blr
