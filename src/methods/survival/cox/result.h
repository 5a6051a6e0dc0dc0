// What a fit says, in the units of the study's variables, from what opened.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "methods/survival/cox/fitter.h"
#include "stats/glm/inference.h"

namespace partita::methods::survival {

// A log hazard ratio.
struct CoxCoefficient {
  std::string term;
  double estimate = 0, standard_error = 0;
  double step = 0;  // of the grid that the estimate is on
  stats::glm::Inference inference;
};

// Of all coefficients together, against none.
struct CoxTest {
  double chi_square = 0, p_value = 1;
};

// The hazard up to a report time, of a stratum.
struct ReportedHazard {
  std::string stratum;  // empty: there are none
  double time = 0;
  double at_zero = 0,
         at_middle = 0;    // of covariates 0 (R's basehaz), of the middles of their bounds
  double step_of_log = 0;  // of the grid of the logarithm; 0: no event until then
};

struct CoxPath {
  std::string term;
  std::vector<double> at;  // by point
};

struct CoxResult {
  bool converged = false;
  uint64_t rows = 0, events = 0, clusters = 0;
  std::vector<CoxCoefficient> coefficients;  // none where it did not converge
  // Of the estimates, in multiples of covariance_steps[i] * covariance_steps[j]; empty where it did not open.
  Eigen::MatrixXd covariance;
  Eigen::VectorXd covariance_steps;
  double null_log_likelihood = 0, log_likelihood = 0, aic = 0;
  CoxTest likelihood_ratio, score;
  std::optional<CoxTest> wald;  // none where a robust covariance is singular
  // Of proportional hazards: of each column, then of all; empty where they are not asked for or could
  // not be computed.
  std::vector<CoxTest> proportional;
  std::optional<double> concordance;  // none where it is not asked for, or there are no pairs
  std::vector<ReportedHazard> hazards;
  std::vector<std::string> withheld_hazards;  // strata; "all" where there are none
  std::vector<CoxPath> path;
  std::vector<std::string> moving;  // terms that the last step moved by more than a standard error
  std::vector<std::string> warnings;  // whole sentences
};

// Of a party that learned the model. factors: the dictionary with those of [[derived]].
CoxResult CoxResultOf(const CoxTask& task, const data::Schema& factors, const CoxFitted& fitted);

}  // namespace partita::methods::survival
