// One party's log likelihood, at many parameter vectors at once: what enters an accept-reject
// decision.
//
// Parameters are unconstrained reals: scales and dispersions by their logarithm. Values leave out
// no term that depends on the parameters; terms of the data alone may be left out, because
// decisions use differences.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <memory>
#include <vector>

namespace partita::stats::mcmc {

class LocalTarget {
 public:
  virtual ~LocalTarget() = default;
  virtual size_t dimension() const = 0;
  // thetas: d by C, one parameter vector per column. C values; -infinity where the likelihood is 0.
  virtual Eigen::VectorXd LogLikelihood(const Eigen::MatrixXd& thetas) const = 0;
  // The same as sums of two columns, for differences: where a target promises what a row moves them
  // by, each column's differences are exact (grid_sums.h). Else the second column is 0.
  virtual Eigen::MatrixX2d Parts(const Eigen::MatrixXd& thetas) const;
  // The same by row, rows by C, where the likelihood is a sum over rows; else kRefused.
  virtual Eigen::MatrixXd ByRow(const Eigen::MatrixXd& thetas) const;
};

using TargetPtr = std::unique_ptr<const LocalTarget>;

// x: n by k, with a column of ones if there is an intercept. All throw kBadData, naming the row,
// for values that are not finite or out of the family's range, kUsage for sizes that differ.

// y ~ N(x b, sigma^2). Parameters b, log sigma.
TargetPtr LinearTarget(Eigen::MatrixXd x, Eigen::VectorXd y);
// y in {0, 1}, logit P(y = 1) = x b. Parameters b.
TargetPtr LogisticTarget(Eigen::MatrixXd x, Eigen::VectorXd y);
// y = 0, 1, 2, ..., log E y = x b. Parameters b.
TargetPtr PoissonTarget(Eigen::MatrixXd x, Eigen::VectorXd y);
// The same with Var y = mu + mu^2 / size. Parameters b, log size.
TargetPtr NegativeBinomialTarget(Eigen::MatrixXd x, Eigen::VectorXd y);

// time > 0; event 1: it happened then, 0: censored.
struct SurvivalRows {
  Eigen::MatrixXd x;
  Eigen::VectorXd time, event;
};
// Accelerated failure time: log T = x b + sigma W, W minimum extreme value. Parameters b, log
// sigma.
TargetPtr WeibullTarget(SurvivalRows rows);
// Cox's partial likelihood, ties by Efron's method, the party as one stratum: risk sets are its own
// rows only. No intercept. Parameters b. Not a sum over rows: no claim of differential privacy.
TargetPtr CoxTarget(const SurvivalRows& rows);

// A user's own: called once per parameter vector.
TargetPtr OwnTarget(size_t dimension, std::function<double(const Eigen::VectorXd&)> log_likelihood);

}  // namespace partita::stats::mcmc
