// Models and random points for property tests of the fit.
#pragma once

#include <Eigen/Core>
#include <random>
#include <string>
#include <vector>

#include "stats/sem/fit.h"
#include "stats/sem/moments.h"
#include "stats/sem/ram.h"

namespace partita::stats::testing {

// A random positive definite covariance matrix of p variables with variances near 1.
inline GroupMoments RandomMoments(int p, double n, std::mt19937_64& generator) {
  std::normal_distribution<double> normal;
  const auto draw = [&] { return normal(generator); };
  const Eigen::MatrixXd factors = Eigen::MatrixXd::NullaryExpr(p, 2, draw);
  GroupMoments moments;
  moments.n = n;
  moments.mean = Eigen::VectorXd::NullaryExpr(p, draw);
  moments.covariance = factors * factors.transpose() / 2;
  moments.covariance.diagonal().array() += 0.6;
  return moments;
}

// Every kind of cell: loadings, regressions among latent and observed variables with a feedback
// loop, covariances, means, labels that tie cells of different kinds, units and groups.
inline ParameterTable EverythingTable() {
  SemModelOptions options;
  options.groups = {"one", "two"};
  return BuildParameterTable(
      "f =~ x1 + x2 + c(l, l)*x3\n"
      "g =~ x4 + x5 + c(l, m)*x6 + x3\n"
      "g ~ f + k*y\n"
      "y ~ f + x6\n"
      "f ~ start(0.1)*g\n"
      "x1 ~~ k*x2 + x4\n"
      "x5 ~~ r*x5\n"
      "x6 ~~ r*x6\n",
      options);
}

}  // namespace partita::stats::testing
