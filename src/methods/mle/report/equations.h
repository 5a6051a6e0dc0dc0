// A model as the equations that a statistician would write: made from the parameter table, so they
// say what was fitted, defaults included. Plain HTML (sub, sup, var) rather than MathML, which
// needs a mathematical font to look right and does not break long lines.
#pragma once

#include <string>
#include <vector>

#include "methods/mle/fit/result.h"

namespace partita::methods::mle {

// The symbol of every row of the table, as HTML: the user's label where all groups
// share it, else a letter with a number (lambda loadings, beta regressions, nu and alpha intercepts
// of observed and latent variables, theta and psi variances and covariances of observed and latent
// variables). A parameter has the same symbol in all groups. Empty for rows that are fixed in every
// group, for moments of fixed covariates and for := and ==.
std::vector<std::string> ParameterSymbols(const stats::ParameterTable& table);

// One equation per explained variable, then variances and covariances, constraints and definitions;
// as HTML. Fixed values are those of `result`'s estimates.
std::string ModelEquations(const MleResult& result);

}  // namespace partita::methods::mle
