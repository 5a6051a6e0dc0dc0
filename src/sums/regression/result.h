// What the regression on a private sum hands to the report: plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "privacy/statement.h"

namespace partita::sums::regression {

// In the units of the columns.
struct CoefficientFacts {
  std::string name;  // "(Intercept)" or the column
  double mean = 0, stddev = 0;
  double lower = 0, upper = 0;  // of the credible interval
  double positive = 0;          // P(beta > 0 | released)
  // Posterior standard deviation as a multiple of what it would be if the sums were exact.
  double noise_factor = 1;
};

// What everybody knew of a column.
struct ColumnFacts {
  std::string name;
  double lower = 0, upper = 0;  // values beyond were moved there
};

struct RegressionResult {
  std::string outcome;
  bool noise_aware = true;
  double level = 0.95;
  uint64_t rows = 0;
  double residual_stddev = 0;  // in the unit of the outcome
  double noise_stddev = 0;     // of every released sum, in scaled units
  // Eigenvalues of the released X'X that were negative and are repaired (plain) or impossible under
  // the model (noise-aware).
  uint64_t negative_eigenvalues = 0;
  std::vector<CoefficientFacts> coefficients;
  std::vector<ColumnFacts> columns;            // the outcome last
  std::vector<privacy::Statement> statements;  // one per release; their losses add up
  std::vector<std::string> warnings;           // whole sentences
};

struct PredictionFacts {
  double mean = 0, lower = 0, upper = 0;  // of a new outcome
};

}  // namespace partita::sums::regression
