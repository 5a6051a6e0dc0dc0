// What a fit says, in the units of the study's variables, from what opened.
#pragma once

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

struct CoxPath {
  std::string term;
  std::vector<double> at;  // by point
};

struct CoxResult {
  bool converged = false;
  uint64_t rows = 0, events = 0;
  std::vector<CoxCoefficient> coefficients;  // none where it did not converge
  double null_log_likelihood = 0, log_likelihood = 0, aic = 0;
  CoxTest likelihood_ratio, score;
  std::optional<CoxTest> wald;  // none where a robust covariance is singular
  // Of proportional hazards: of each column, then of all; empty where they are not asked for or could
  // not be computed.
  std::vector<CoxTest> proportional;
  std::vector<CoxPath> path;
  std::vector<std::string> moving;  // terms that the last step moved by more than a standard error
  std::vector<std::string> warnings;  // whole sentences
};

// Of a party that learned the model.
CoxResult CoxResultOf(const CoxTask& task, const CoxFitted& fitted);

}  // namespace partita::methods::survival
