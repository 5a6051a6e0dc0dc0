// Families of models by name, and the tables that their users expect beside the estimates. All of
// it follows from the estimates and the implied moments: nothing is opened for it.
#pragma once

#include <string>
#include <vector>

#include "base/cell_table.h"
#include "methods/mle/fit/result.h"
#include "stats/sem/parameter_table.h"

namespace partita::methods::mle {

// What the parameter table is: "linear regression", "multivariate regression", "path analysis",
// "mediation analysis" (a path analysis with := rows), "confirmatory factor analysis", "latent
// growth model" (function growth), "structural equation model", "saturated model" (all variances
// and covariances of observed variables), "covariance structure"; with groups "multi-group ...".
std::string FamilyName(const stats::ParameterTable& table, const std::string& function);

// By family and group, those that the result has the numbers for:
//   regression   R-squared, adjusted with n (McNemar), residual standard deviation with divisors n
//                and n - k - 1; not where least squares says it (least_squares.h)
//   all with ~   R-squared of other dependent variables; direct, indirect and total effects where
//                a dependent variable predicts (acyclic models): T = (I - B)^-1 - I, T - B
//   factors      of each its number of indicators, omega = (sum l)^2 v / ((sum l)^2 v + sum of
//                residual covariances) (McDonald 1999; v the variance of the factor; NaN for
//                indicators of several factors), and the average of their R-squared (Fornell &
//                Larcker 1981)
//   growth       implied mean and standard deviation of every occasion; mean and variance of the
//                growth factors
//   saturated    principal components of covariances and correlations: eigenvalues, shares, and
//                the directions for correlations, signs such that the largest entry is positive
// A fit that did not converge gets none.
std::vector<CellTable> FamilyTables(const MleResult& result);

}  // namespace partita::methods::mle
