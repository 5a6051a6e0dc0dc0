// Likelihoods in which one row counts for little: what a claim of differential privacy needs
// (methods.md 5.7).
//
// Target   prior(theta) exp(sum_i c_i(theta)), c_i = l_i(theta) - l_i(reference) cut to [-L, L],
//          l_i the log likelihood of row i. Any such target is a distribution of its own, NOT the
//          posterior: near it if few rows are cut where the chain goes. Cutting the log
//          RATIOS of decisions instead would leave no target at all.
// Bound    One row moves the log ratio of a decision by at most 2 L if it is added or removed, 4 L
//          if it is replaced: Sensitivity. Contributions are cut to L (1 - 2^-16), rounded
//          to a grid below 2^-30 L and summed exactly (grid_sums.h), which leaves room for the
//          rounding of differences of up to kMostSummedRows rows. No table is refused for its
//          length: that would tell the number of rows.
#pragma once

#include "privacy/adjacency.h"
#include "stats/mcmc/targets.h"

namespace partita::stats::mcmc {

// Throws kUsage for a reference of another dimension or a limit that is not above 0, kRefused for a
// likelihood that is no sum over rows (Cox, group means, a user's own).
TargetPtr ClippedTarget(TargetPtr rows, const Eigen::VectorXd& reference, double limit);

double ClippedSensitivity(double limit, privacy::Adjacency adjacency);

}  // namespace partita::stats::mcmc
