// Fit scalars and standard errors of a sealed fit, on shares.
#pragma once

#include <vector>

#include "methods/mle/sealed/point.h"
#include "methods/mle/sealed/slope.h"
#include "mpc/functions/definite.h"

namespace partita::methods::mle {

// What needs the sample alone, 1 x 1 each: log|S| of the scaled covariances, averaged over the rows,
// and SealedScalars of the baseline and of the saturated model. Pivots of the covariances and
// logarithms, one after the other.
struct SampleScalars {
  mpc::Shared log_det, baseline_chisq, saturated;
};
SampleScalars SampleScalarsOf(const SealedProblem& problem);

// Pivots of R, by sample, and how many there are that show that one is no covariance: 1 x 1,
// without fraction bits.
struct LastPivots {
  std::vector<mpc::Pivots> pivots;
  mpc::Shared faults;
};
LastPivots PivotsAt(const SealedProblem& problem, const SealedPoint& at);

// tr((S + spread) R^-1) by sample, of a point that has R^-1.
std::vector<mpc::Shared> TracesAt(const SealedProblem& problem, const SealedPoint& at);

// F = log|R| + tr((S + spread) R^-1), averaged over the rows.
mpc::Shared DiscrepancyOf(const SealedProblem& problem, const LastPivots& pivots,
                          const std::vector<mpc::Shared>& traces);

// 3 x 1 at kSealedBits, as SealedScalars has them. good: 1, or 0 where F is kWorst instead; without
// fraction bits.
mpc::Shared ScalarsOf(const SealedProblem& problem, const SampleScalars& sample,
                      const mpc::Shared& discrepancy, const mpc::Shared& good);

// Roots of the diagonal of the inverse information of F, k x 1. Zero where the information
// cannot be inverted.
mpc::Shared DeviationsAt(const SealedProblem& problem, const SealedSlope& slope);

}  // namespace partita::methods::mle
