// The parameters of a fit in the order and under the headings in which reports show them.
#pragma once

#include <Eigen/Core>
#include <map>
#include <string>
#include <vector>

#include "methods/mle/fit/result.h"

namespace partita::methods::mle {

struct EstimateSection {
  std::string title;         // "Latent variables", "Regressions", ..., "Defined parameters"
  int group = 0;             // 1-based; 0 for defined parameters
  std::vector<size_t> rows;  // indices of the parameter table
};

// Sections that have rows, group by group, defined parameters last. Moments of fixed covariates and
// constraints (==) are in none.
std::vector<EstimateSection> EstimateSections(const MleResult& result);

// What reports show: with robust standard errors where the study asked for them, else as fitted.
const std::vector<stats::ParameterEstimate>& ReportedEstimates(const MleResult& result);
const Eigen::MatrixXd& ReportedVcov(const MleResult& result);

// Of a regression that is saturated but for what it regresses: chi-square is 0 and fit indices are 1
// or 0 whatever the rows say, and the baseline's test is not one of the coefficients' standard errors.
bool IsSaturatedRegression(const MleResult& result);

// Those of the fit, and the scaled and robust ones where there are some. Of a saturated regression
// likelihoods and sizes only.
std::map<std::string, double> ReportedMeasures(const MleResult& result);

// Throws kInternal unless there is an estimate for every row of the table.
void CheckEstimates(const MleResult& result);

// "visual =~ x1", "x1 ~1", "indirect := a*b".
std::string ParameterName(const stats::Parameter& row);

// Whether the row has a standard error and an interval: free or defined, with finite numbers.
bool HasInterval(const MleResult& result, size_t row);

}  // namespace partita::methods::mle
