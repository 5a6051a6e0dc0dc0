// Tests of terms of several columns on shares: Wald statistics of estimates that opened, with a covariance
// that does not.
//
// Method    With standard errors s and C the correlation of the estimates of a term, W = t' C^-1 t,
//           t = b / s. t is b times InverseRoot of the squared errors; C is the term's block of
//           mpc::SolvedStep::covariance with ones on its diagonal (e on both sides, e its diagonal^(-1/2));
//           C^-1 by InvertDefinite. Units and dispersion are in s alone. As K_ii <= 2^6 where all columns
//           are true (mpc/functions/information_inverse.h), X_ii >= 2^-6; columns that are not count as 0.
// No test   |t| above 2^14, W above 2^30, or C singular (variance inflation above 10^6, as of more
//           columns than clusters): the statistic is kNoStatistic.
// Error     t: 2^-30 absolute and what SE^2 / 2 errs by, relative; C: 2^-33 relative and what X errs by, of
//           robust errors 2^-30, times W and the largest entry of C^-1.
// Cost      InverseRoot of 2 q numbers, q columns in such terms, InvertDefinite of all terms at once,
//           three comparisons, eight products. Timing: constant in shares; not in shapes and bounds (public).
// Revealed  Nothing. The statistics open with the fit.
#pragma once

#include "methods/glm/fit_numbers.h"
#include "mpc/functions/scoring_step.h"

namespace partita::methods::glm {

inline constexpr int kStatisticBits = kTotalBits;
inline constexpr double kMostStatistic = 0x1p30;

// A row for each of spec.terms, of which there is one at least, at kStatisticBits; at most
// kMostStatistic + 1. estimates: as they opened; solved: at them.
mpc::Shared WaldStatistics(mpc::Engine& engine, const Task& task, const mpc::SolvedStep& solved,
                           const Eigen::VectorXd& estimates);

}  // namespace partita::methods::glm
