// Parametric bootstrap: samples of the fitted normal distribution, each fitted anew, for intervals
// of parameters and of functions of them that are not normally distributed (an indirect effect a*b:
// MacKinnon, Lockwood & Williams 2004). Needs the fitted moments and no row.
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.h"
#include "crypto/random.h"
#include "stats/sem/fit.h"
#include "stats/sem/moments.h"
#include "stats/sem/parameter_table.h"

namespace partita::stats {

// Moments of n rows drawn from N(mean, covariance): the mean, and by the Bartlett decomposition
// n S ~ Wishart(n - 1). n > number of variables.
GroupMoments DrawMoments(const Eigen::VectorXd& mean, const Eigen::MatrixXd& covariance, double n,
                         crypto::RandomSource& random);

struct BootstrapInterval {
  double standard_error = 0;    // standard deviation of the draws
  double lower = 0, upper = 0;  // percentiles
};
struct Bootstrap {
  size_t draws = 0, failed = 0;  // failed: did not converge, and do not count
  // One for each row of the table; NaN for rows that are fixed.
  std::vector<BootstrapInterval> intervals;
};

// num_rows: of every group. The draws come from a fixed stream, which protects nothing: the same
// fit gets the same intervals. Covariates of fixed.x are drawn along. Throws kBadInput for draws <
// kMinBootstrapDraws, a fit that did not converge, and where more than a tenth of the draws fail.
inline constexpr size_t kMinBootstrapDraws = 100;
Bootstrap ParametricBootstrap(const ParameterTable& table, const std::vector<double>& num_rows,
                              const SemFit& fit, size_t draws, double level, Progress& progress);

}  // namespace partita::stats
