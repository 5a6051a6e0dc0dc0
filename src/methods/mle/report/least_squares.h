// A regression as R's lm is read: coefficients with Student's t, residual standard error on its
// degrees of freedom, R-squared and F. Instead of what reports show of a fit by maximum likelihood,
// for results that have MleResult::least_squares.
#pragma once

#include <string>

#include "methods/mle/fit/result.h"

namespace partita::methods::mle {

// "quality", with the group where there are several.
std::string RegressionName(const MleResult& result, const LeastSquares& regression);

// For the terminal: coefficients and what stands below them in R, regression by regression.
std::string LeastSquaresText(const MleResult& result);

// The same as markup.
std::string LeastSquaresHtml(const MleResult& result);

// For the methods section of a paper: sizes, R-squared and F.
std::string LeastSquaresSentence(const MleResult& result);

}  // namespace partita::methods::mle
