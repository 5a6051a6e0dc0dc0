#include "methods/mle/published/attacks/moment_attack.h"

#include <Eigen/Cholesky>
#include <Eigen/SVD>
#include <cmath>

namespace partita::methods::mle::published {
namespace {

// Q / n = tr(K C) - 2 m' K t + m' K m for rows with mean t and second moments C about the origin,
// in whitened coordinates; the unknowns are t and C - I.
struct Equations {
  Eigen::MatrixXd weights;
  Eigen::VectorXd values;
};

Equations Whitened(const std::vector<KnownLikelihood>& known, double n,
                   const NormalParameters& guess, const Eigen::MatrixXd& root) {
  const Eigen::Index p = guess.mean.size();
  Equations out{{static_cast<Eigen::Index>(known.size()), p + p * (p + 1) / 2},
                Eigen::VectorXd(static_cast<Eigen::Index>(known.size()))};
  for (Eigen::Index r = 0; r < out.values.size(); ++r) {
    const KnownLikelihood& one = known[static_cast<size_t>(r)];
    const Eigen::MatrixXd k = root.transpose() * one.precision * root;
    const Eigen::VectorXd m = root.triangularView<Eigen::Lower>().solve(one.mean - guess.mean);
    out.weights.row(r).head(p) = -2 * (k * m).transpose();
    Eigen::Index at = p;
    for (Eigen::Index i = 0; i < p; ++i) {
      for (Eigen::Index j = i; j < p; ++j) out.weights(r, at++) = (i == j ? 1 : 2) * k(i, j);
    }
    out.values[r] = one.quadratic / n - m.dot(k * m) - k.trace();
  }
  return out;
}

}  // namespace

SolvedMoments SolveMoments(const std::vector<KnownLikelihood>& known, double n,
                           const NormalParameters& guess, double told) {
  const Eigen::Index p = guess.mean.size();
  const Eigen::MatrixXd root = guess.covariance.llt().matrixL();
  SolvedMoments out;
  out.unknown = p + p * (p + 1) / 2;
  Eigen::VectorXd found = Eigen::VectorXd::Zero(out.unknown);
  if (!known.empty()) {
    const Equations equations = Whitened(known, n, guess, root);
    Eigen::JacobiSVD<Eigen::MatrixXd> svd(equations.weights,
                                          Eigen::ComputeThinU | Eigen::ComputeThinV);
    svd.setThreshold(told);
    out.rank = svd.rank();
    if (out.rank > 0) out.magnification = 1 / svd.singularValues()[out.rank - 1];
    found = svd.solve(equations.values);
  }
  const Eigen::VectorXd mean = found.head(p);
  Eigen::MatrixXd second = Eigen::MatrixXd::Identity(p, p);
  Eigen::Index at = p;
  for (Eigen::Index i = 0; i < p; ++i) {
    for (Eigen::Index j = i; j < p; ++j) {
      const double value = found[at++];
      second(i, j) += value;
      if (i != j) second(j, i) += value;
    }
  }
  out.mean = guess.mean + root * mean;
  out.covariance = root * (second - mean * mean.transpose()) * root.transpose();
  return out;
}

double RelativeError(const SolvedMoments& solved, const Eigen::VectorXd& mean,
                     const Eigen::MatrixXd& covariance) {
  const Eigen::MatrixXd truth = covariance + mean * mean.transpose();
  const Eigen::MatrixXd found = solved.covariance + solved.mean * solved.mean.transpose();
  const double error =
      std::max((solved.mean - mean).cwiseAbs().maxCoeff(), (found - truth).cwiseAbs().maxCoeff());
  return error / std::max(mean.cwiseAbs().maxCoeff(), truth.cwiseAbs().maxCoeff());
}

}  // namespace partita::methods::mle::published
