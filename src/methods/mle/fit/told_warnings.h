// Warnings at those who were told a result: made of what they were told, so that nothing more of the
// sample is in them.
#pragma once

#include "methods/mle/fit/analysis.h"
#include "methods/mle/fit/result.h"

namespace partita::methods::mle {

// Adds to the warnings of the fit, and of its robust errors: why it stopped (and the parameter that
// ran away), parameters without a standard error, variances below zero, matrices that are not
// positive definite (not of latent variables beside fixed covariates, whose moments are not told),
// more parameters than moments.
void AddToldWarnings(const MleAnalysis& analysis, MleResult& result);

}  // namespace partita::methods::mle
