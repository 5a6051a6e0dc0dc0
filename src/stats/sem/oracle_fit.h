// Maximum likelihood for structural equation models over an oracle for linear functions of the
// sufficient statistics, which themselves stay unknown.
//
// Fisher scoring on the constraint manifold needs, beside what the oracle answers, only theta (the
// expected information does not depend on the data). Steps are damped (Levenberg-Marquardt) rather
// than searched along a line, since every evaluation costs a round trip and tells something. The
// first question is about a point where nothing predicts anything, which public facts give (each
// column's centre, and a third of its half width as its standard deviation): its gradient tells
// means and standard deviations, and everything after is in their units. A start that runs away, or
// uses up half of what was declared, is followed by a more cautious one.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "base/progress.h"
#include "stats/sem/fit.h"
#include "stats/sem/linear_statistics.h"
#include "stats/sem/parameter_table.h"

namespace partita::stats {

// weights: rows x statistics. values = used * statistics, up to the oracle's own rounding, where
// `used` are weights close to those asked for (on the oracle's grid). The fit corrects for the
// difference with the statistics that the model implies, so that what rounding of weights costs is
// (asked - used) * (statistics - implied statistics). Implied ones differ from the sample's by the
// misfit only.
struct OracleAnswer {
  Eigen::VectorXd values;
  Eigen::MatrixXd used;
};
using LinearOracle = std::function<OracleAnswer(const Eigen::MatrixXd& weights)>;

struct OracleFitInput {
  std::vector<double> n;  // rows of each group
  StatisticsScale scale;
  // One row: the log-likelihood. More: the log-likelihood and its gradient, always
  // OracleRows(table) of them.
  LinearOracle oracle;
};

struct OracleFitOptions {
  int max_values = 100;     // evaluations of the log-likelihood alone
  int max_gradients = 100;  // and with its gradient
  double confidence_level = 0.95;
};

// What was asked, and how much of the statistics it tells (weight_rank.h).
struct OracleUsage {
  int values = 0;
  int gradients = 0;
  int opened_numbers = 0;  // values + gradients * OracleRows
  int rank = 0;
  int num_statistics = 0;
};

struct OracleFit {
  // fit_measures has npar, df, ntotal, logl, aic, bic, bic2 only: everything else compares with the
  // saturated model, which needs the moments. Covariates of fixed.x are estimated like everything
  // else; they are reported as fixed, the log-likelihood as conditional on them (both as lavaan).
  SemFit fit;
  OracleUsage usage;
};

// Rows of an evaluation with gradient: 1 + the number of parameters (fixed.x covariates included).
int OracleRows(const ParameterTable& table);

// Converged: scaled gradient below 1e-8, or where the oracle's rounding allows no further step and
// the distance to the optimum is below 1e-5 standard errors. Throws kBadInput for a group with no
// more rows than variables, or fewer rows than parameters; what the oracle throws. Running out of
// evaluations is a result with converged == false. progress: phases "fit: rank R of S", steps are
// evaluations.
OracleFit FitSemFromOracle(const ParameterTable& table, const OracleFitInput& input,
                           const OracleFitOptions& options, Progress& progress);

}  // namespace partita::stats
