// Linear regression as R's lm prints it, from a fit by maximum likelihood. Coefficients are the
// same; maximum likelihood divides the sum of squares by n, least squares by the residual degrees
// of freedom n - p, and tests are Student's instead of normal.
#pragma once

#include "methods/mle/fit/analysis.h"
#include "methods/mle/fit/result.h"

namespace partita::methods::mle {

// Fills in result.least_squares, one per outcome and group, predictors in the model's order, and
// says in the notes what their tests assume. Nothing happens unless the two are the same model:
// function "regression", converged, saturated but for the regression (df 0, so no constraint), rows
// complete and moments without noise (MleOptions), standard errors not robust, rows left over.
void AddLeastSquares(const MleOptions& options, MleResult& result);

}  // namespace partita::methods::mle
