// The normal log-likelihood as a linear function of sufficient statistics, and its gradient.
//
// With z = (y - centre) / half_width, public centre and half_width, the statistics of a group are
//   with a mean structure     sum z and the upper triangle of sum z z'   (p + p (p + 1) / 2)
//   without one               the upper triangle of n S, S the covariance of z (divisor n), since
//                             the means are saturated and drop out       (p (p + 1) / 2)
// and with K = Sigma_z(theta)^-1, m = mu_z(theta)
//   LL = - n/2 (p log 2 pi + log|Sigma_y| + m'Km) + m'K sum z - 1/2 tr(K sum z z').
// For a cell k of the model, with M = K dSigma_k K and d = K dmu_k,
//   dLL/dk = n/2 (m'Mm - tr(K dSigma_k)) - n d'm + (d - Mm)' sum z + 1/2 tr(M sum z z').
// Without a mean structure m = 0 and n S stands for sum z z'. Every statistic's weight is therefore
// known to whoever knows theta, and the constants to whoever also knows the n of the groups.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "stats/sem/moments.h"
#include "stats/sem/ram.h"

namespace partita::stats {

// z = (y - centre) / half_width; both public.
struct StatisticsScale {
  Eigen::VectorXd centre, half_width;
};

// Group after group: sums (if means), then rows of the upper triangle: (0,0), (0,1), ..., (1,1),
// ...
struct StatisticsLayout {
  Eigen::Index num_variables = 0;
  Eigen::Index num_groups = 1;
  bool means = false;

  Eigen::Index num_sums() const { return means ? num_variables : 0; }
  Eigen::Index per_group() const { return num_sums() + num_variables * (num_variables + 1) / 2; }
  Eigen::Index size() const { return num_groups * per_group(); }
};

StatisticsLayout LayoutOf(const RamModel& model);

// rows * statistics + constants is the log-likelihood, then (if asked for) its derivatives with
// respect to x, the parameters in internal units. No rows where a Sigma is not positive definite.
struct LinearRows {
  Eigen::MatrixXd weights;
  Eigen::VectorXd constants;
};
LinearRows LikelihoodRows(const RamModel& model, const StatisticsScale& scale,
                          const std::vector<double>& n, const Eigen::VectorXd& x,
                          bool with_gradient);

// What the statistics would be if the sample moments were those that the model implies at x.
Eigen::VectorXd ImpliedStatistics(const RamModel& model, const StatisticsScale& scale,
                                  const std::vector<double>& n, const Eigen::VectorXd& x);

}  // namespace partita::stats
