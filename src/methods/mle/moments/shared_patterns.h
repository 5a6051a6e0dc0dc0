// Moments of patterns of missing values on shares, in units of the standard deviations of what is
// there: what an imputation on shares works with.
//
// Public           Which variables a pattern has, and how many rows have it.
// Revealed         Nothing.
// Units            z = (y - centre - mean) / deviation by variable, y - centre in half-widths; mean
//                  and deviation over all rows of the group that have the variable, on shares.
// Domain           Deviations of at least 2^-8 half-widths; within a pattern, variances of at most
//                  kLargestPatternVariance units. `beyond` counts what is outside, and such a
//                  covariance is replaced before anything is computed from it.
// Error            2^-40 of second moments in half-widths, so 2^-24 of the smallest variance. What
//                  combinations of k variables within a pattern have a variance of less than k
//                  2^-18 units count in its root with part of that variance, or with none.
#pragma once

#include <vector>

#include "methods/mle/moments/shared_moments.h"
#include "mpc/engine.h"

namespace partita::methods::mle {

inline constexpr double kLargestPatternVariance = 64;

// One group. Moments as in SealedSums.
struct PatternSums {
  std::vector<SharedMoments> cells;           // by pattern
  std::vector<std::vector<size_t>> observed;  // by pattern, indices into `variables`, ascending
  std::vector<double> counts;  // by pattern; where nothing opens (a plan, the dealer) any numbers
  std::vector<size_t> variables;  // as indices into those of the moments
  double max_rows = 0;            // public upper bound
};

struct SharedPattern {
  std::vector<size_t> observed, missing;  // k and m variables
  double n = 0;
  mpc::Shared mean;     // k x 1
  mpc::Shared squares;  // k x k, covariance + mean mean'
  // With missing variables only: k x k, the symmetric root of the covariance.
  mpc::Shared root;
};

struct SharedPatterns {
  std::vector<SharedPattern> patterns;  // each set of observed variables once, none of them empty
  double n = 0;
  mpc::Shared mean, deviation;  // p x 1, half-widths
  mpc::Shared beyond;           // 1 x 1 without fraction bits: 0 inside of the domain
};

// By group; all groups in the same rounds. Patterns without any variable are left out.
std::vector<SharedPatterns> StandardisePatterns(mpc::Engine& engine,
                                                const std::vector<PatternSums>& groups);

}  // namespace partita::methods::mle
