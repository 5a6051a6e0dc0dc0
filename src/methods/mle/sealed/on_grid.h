// What others than the receiver are told of a result: estimates and standard errors on the grid of
// the release rule (privacy/release_rule.h), and all else computed from these.
//
// On the grid       Estimates and standard errors of free parameters, standard errors of := rows:
//                   multiples of 2^e, e = floor(log2(g SE)). Chi-squares of the model and the
//                   baseline and the log-likelihood: multiples of g. Scaling factors: multiples of
//                   2^floor(log2(g c)). SRMR: of 2^-10.
// Computed          := rows, z, p, intervals, standardised values, all other fit measures.
//                   Standardised values of fixed.x models would need the covariates' moments: none.
// Student's law     Of imputed results the quantile of the intervals is on the grid, and p-values
//                   on 2^-10, because the degrees of freedom are not told.
#pragma once

#include "methods/mle/fit/analysis.h"
#include "methods/mle/fit/result.h"

namespace partita::methods::mle {

// The result with 2^-grid_bits for g. Without a standard error, the grid of a free parameter is
// that of its magnitude.
MleResult OnReleaseGrid(const MleAnalysis& analysis, MleResult result, int grid_bits);

// The opened numbers among those that are told, each worth log2(1 / g) bits.
uint64_t NumOnGrid(const MleAnalysis& analysis);

}  // namespace partita::methods::mle
