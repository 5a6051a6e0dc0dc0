// Maximum likelihood for structural equation models on sample moments.
#pragma once

#include <Eigen/Core>
#include <map>
#include <string>
#include <vector>

#include "base/progress.h"
#include "stats/sem/moments.h"
#include "stats/sem/parameter_table.h"
#include "stats/sem/stop_reason.h"

namespace partita::stats {

enum class Information { kExpected, kObserved };

struct SemFitOptions {
  Information information = Information::kExpected;
  int max_iterations = 1000;
  double confidence_level = 0.95;
};

// One row per ParameterTable row, same order.
struct ParameterEstimate {
  double estimate = 0, standard_error = 0, z = 0, p_value = 0, ci_lower = 0, ci_upper = 0;
  double std_lv = 0, std_all = 0;  // standardised solutions
};

struct SemFit {
  bool converged = false;
  // kConverged where converged, and in results read from files, which have words only.
  StopReason stop = StopReason::kConverged;
  std::string optimizer;  // "Fisher scoring" or "NLopt SLSQP, then Fisher scoring"
  int iterations = 0;
  double max_scaled_gradient = 0;  // projected on the constraints, per observation
  std::vector<ParameterEstimate> estimates;
  // lavaan's names: npar, fmin, chisq, df, pvalue, baseline.chisq, baseline.df, baseline.pvalue,
  // cfi, tli, logl, unrestricted.logl, aic, bic, bic2, ntotal, rmsea, rmsea.ci.lower,
  // rmsea.ci.upper, rmsea.pvalue, srmr.
  std::map<std::string, double> fit_measures;
  Eigen::MatrixXd vcov;  // of the free parameters, in the order of Parameter::free
  std::vector<Eigen::MatrixXd> implied_covariance;  // per group
  std::vector<Eigen::VectorXd> implied_mean;
  std::vector<std::string> warnings;  // in words: Heywood case, not positive definite, not
                                      // identified and which parameter
};

// Throws kBadInput for moments that cannot be fitted (fewer rows than parameters, singular sample
// covariance, constant column named); non-convergence is a result with converged == false and the
// reason in warnings.
SemFit FitSem(const ParameterTable& table, const std::vector<GroupMoments>& moments,
              const SemFitOptions& options, Progress& progress);

}  // namespace partita::stats
