#include "stats/mcmc/maximum.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <nlopt.hpp>
#include <vector>

namespace partita::stats::mcmc {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kStep = 1e-3;         // of second differences
constexpr double kTolerance = 1e-8;    // of the parameters
constexpr double kInside = 0.99;       // of the reach
constexpr double kImpossible = -1e10;  // NLopt wants finite values

double LogLikelihoodAt(const std::vector<double>& x, std::vector<double>& /*gradient*/,
                       void* target) {
  const auto size = static_cast<Index>(x.size());
  const double value = static_cast<const LocalTarget*>(target)->LogLikelihood(
      Eigen::Map<const VectorXd>(x.data(), size))(0);
  return std::isfinite(value) ? value : kImpossible;
}

// Minus the matrix of second derivatives.
MatrixXd Information(const LocalTarget& target, const VectorXd& at) {
  const Index d = at.size();
  const auto second = [&](Index i, Index j) {
    MatrixXd corners = at.replicate(1, 4);
    constexpr double kSigns[4][2] = {{1, 1}, {1, -1}, {-1, 1}, {-1, -1}};
    for (Index c = 0; c < 4; ++c) {
      corners(i, c) += kSigns[c][0] * kStep;
      corners(j, c) += kSigns[c][1] * kStep;
    }
    const VectorXd values = target.LogLikelihood(corners);
    return (values(0) - values(1) - values(2) + values(3)) / (4 * kStep * kStep);
  };
  MatrixXd information(d, d);
  for (Index i = 0; i < d; ++i) {
    for (Index j = 0; j <= i; ++j) information(i, j) = information(j, i) = -second(i, j);
  }
  return information;
}

}  // namespace

std::optional<Maximum> MaximumLikelihood(const LocalTarget& target, const VectorXd& start,
                                         double reach) {
  std::vector<double> x(start.begin(), start.end()), lower = x, upper = x;
  for (double& value : lower) value -= reach;
  for (double& value : upper) value += reach;
  nlopt::opt search(nlopt::LN_BOBYQA, static_cast<unsigned>(x.size()));
  search.set_max_objective(LogLikelihoodAt, const_cast<LocalTarget*>(&target));
  search.set_lower_bounds(lower);
  search.set_upper_bounds(upper);
  search.set_initial_step(0.5);
  search.set_xtol_abs(kTolerance);
  search.set_maxeval(5000);
  try {
    double value = 0;
    search.optimize(x, value);
  } catch (const nlopt::roundoff_limited&) {
    // As precise as the likelihood is.
  }
  Maximum maximum;
  maximum.at = Eigen::Map<const VectorXd>(x.data(), start.size());
  if ((maximum.at - start).cwiseAbs().maxCoeff() > kInside * reach) return std::nullopt;
  const Eigen::LLT<MatrixXd> information(Information(target, maximum.at));
  if (information.info() != Eigen::Success) return std::nullopt;
  maximum.covariance = information.solve(MatrixXd::Identity(start.size(), start.size()));
  return maximum;
}

}  // namespace partita::stats::mcmc
