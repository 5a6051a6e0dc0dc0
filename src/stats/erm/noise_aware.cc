#include "stats/erm/noise_aware.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "base/error.h"

namespace partita::stats::erm {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kVisible = 4;  // in units of about the largest eigenvalue of the noise

}  // namespace

std::optional<CoefficientIntervals> NoiseAwareIntervals(const VectorXd& w, const NewtonSums& sums,
                                                        double level) {
  const Index d = w.size();
  if (sums.gradient.size() != d || sums.hessian.rows() != d || sums.hessian.cols() != d) {
    throw Error(ErrorCode::kUsage, "the sums and the coefficients have different sizes");
  }
  if (!(level > 0 && level < 1)) {
    throw Error(ErrorCode::kUsage, "the level of an interval is between 0 and 1");
  }
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(sums.hessian, Eigen::EigenvaluesOnly);
  const double noise = kVisible * sums.hessian_stddev * std::sqrt(static_cast<double>(d));
  if (!(eigen.eigenvalues().minCoeff() > std::max(noise, 1e-9))) return std::nullopt;

  const Eigen::LLT<MatrixXd> factor(sums.hessian);
  const VectorXd move = -factor.solve(sums.gradient);
  const double of_gradient = sums.gradient_stddev * sums.gradient_stddev;
  const double of_hessian = sums.hessian_stddev * sums.hessian_stddev / 2;
  const MatrixXd identity = MatrixXd::Identity(d, d);
  const MatrixXd middle = sums.hessian +
                          (of_gradient + of_hessian * move.squaredNorm()) * identity +
                          of_hessian * move * move.transpose();
  const MatrixXd half = factor.solve(middle);
  CoefficientIntervals result;
  result.estimate = w + move;
  result.covariance = factor.solve(half.transpose());
  const double z = boost::math::quantile(boost::math::normal(), 1 - (1 - level) / 2);
  const VectorXd reach = z * result.covariance.diagonal().cwiseSqrt();
  result.lower = result.estimate - reach;
  result.upper = result.estimate + reach;
  result.step = std::sqrt(move.dot(result.covariance.llt().solve(move)) / static_cast<double>(d));
  return result;
}

}  // namespace partita::stats::erm
