// Fit measures with lavaan's names and formulas (lavaan 0.6-14, maximum likelihood, complete data).
#pragma once

#include <Eigen/Core>
#include <map>
#include <string>
#include <vector>

#include "stats/sem/moments.h"
#include "stats/sem/parameter_table.h"

namespace partita::stats {

// All in natural units.
struct FitMeasureInput {
  const ParameterTable& table;
  const std::vector<GroupMoments>& moments;
  const std::vector<Eigen::MatrixXd>& implied_covariance;  // per group, observed variables
  const std::vector<Eigen::VectorXd>& implied_mean;
  double discrepancy = 0;  // objective.h, fmin
  int num_parameters = 0;  // after equality constraints
};

// The names listed at SemFit::fit_measures (fit.h). Not defined (a p-value with 0 degrees of
// freedom): NaN. With fixed.x the log-likelihoods are conditional on the covariates and their
// moments count neither as data nor as parameters. The baseline model has free variances (and
// means) and no covariances except among exogenous observed covariates.
std::map<std::string, double> ComputeFitMeasures(const FitMeasureInput& input);

// Observed variables that only predict and that no ~~ or ~1 of the user mentions (lavaan's ov.x):
// ParameterTable::exogenous_covariates if fixed_x, derived from the rows otherwise.
std::vector<std::string> ExogenousObserved(const ParameterTable& table);

}  // namespace partita::stats
