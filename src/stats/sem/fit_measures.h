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

// What follows from a few numbers: all of the above but srmr. baseline_chisq and unrestricted_logl
// as ComputeFitMeasures has them.
struct FitScalars {
  double num_rows = 0, chisq = 0, baseline_chisq = 0, unrestricted_logl = 0;
};
std::map<std::string, double> ScalarMeasures(const ParameterTable& table, const FitScalars& scalars,
                                             int num_parameters);

// What a log-likelihood alone gives: npar, df, ntotal, logl, aic, bic, bic2. logl: conditional on
// the covariates with fixed.x, num_parameters without their moments.
std::map<std::string, double> LikelihoodMeasures(const ParameterTable& table, double num_rows,
                                                 double logl, int num_parameters);

// Means, variances and covariances of all groups that count as data.
double CountMoments(const ParameterTable& table);

// Log-likelihood of the fixed.x covariates at their own moments (0 without); num_rows and
// covariance (of all observed variables) per group.
double CovariateLogLikelihood(const ParameterTable& table, const std::vector<double>& num_rows,
                              const std::vector<Eigen::MatrixXd>& covariance);

// Upper tail of the chi-square distribution; NaN unless df > 0.
double ChiSquareTail(double statistic, double df);

// Root mean square error of approximation and its 90 % interval (Browne & Cudeck 1993); with G
// groups times sqrt(G) (Steiger 1998). `chisq` is compared with the noncentral distribution,
// `unscaled` enters the point estimate, both with lavaan's correction c.hat (1: none).
struct RmseaInput {
  double chisq = 0, unscaled = 0, df = 0, num_rows = 0, num_groups = 1, c_hat = 1;
};
struct Rmsea {
  double estimate = 0, ci_lower = 0, ci_upper = 0, p_value = 0;  // of RMSEA <= 0.05
};
Rmsea ComputeRmsea(const RmseaInput& input);

// Observed variables that only predict and that no ~~ or ~1 of the user mentions (lavaan's ov.x):
// ParameterTable::exogenous_covariates if fixed_x, derived from the rows otherwise.
std::vector<std::string> ExogenousObserved(const ParameterTable& table);

}  // namespace partita::stats
