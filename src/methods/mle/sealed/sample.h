// From sums on shares to the sample moments that a sealed fit works with: nobody learns the number
// of rows, of all or of a group.
#pragma once

#include <string>
#include <vector>

#include "methods/mle/moments/shared_moments.h"
#include "mpc/engine.h"

namespace partita::methods::mle {

// f_in of this protocol.
inline constexpr int kSealedInputBits = 30;

// The sample moments of one group, or of its rows in which the same variables are observed, on
// shares at kSealedBits, of (y - centre) / half-width of these k variables. A sample without rows
// is zero throughout.
struct SealedSample {
  mpc::Shared weight;      // 1 x 1: its part of the rows; not used with one sample
  mpc::Shared mean;        // k x 1; not used without a mean structure
  mpc::Shared covariance;  // k x k, divisor n
  size_t group = 0;
  std::vector<size_t> observed = {};  // of the model's p variables, ascending; empty: all of them
};

struct SealedSums {
  std::vector<SharedMoments> groups;  // or, of incomplete rows, one entry for each sample
  // By sample, of incomplete rows (sealed_patterns.h): the group, and what is observed as indices
  // into `variables`. Empty: one sample for each group, of all variables.
  std::vector<size_t> group_of = {};
  std::vector<std::vector<size_t>> observed = {};
  std::vector<size_t> variables;         // of the model, as indices into those of the moments
  int fraction_bits = kSealedInputBits;  // f_in of the moments
  double max_rows = 0;                   // public upper bound on the rows of all groups
  double value_bound = 1;                // of every value: MomentsTask::value_bound
};

// Throws kBadInput for more than 2^28 rows.
void RequireSealedRows(const SealedSums& sums);

// n cross - sum sum' exactly, times 1 / n twice. Error: 2^-40 relative, 2^-39 absolute, and
// 2^-b / n^2 with b = min(60, 84 - 2 ceil(log2 max_rows)) where the product is cut. Rounds:
// mpc::Reciprocal, a product, and two products with their cuts.
std::vector<SealedSample> SampleOnShares(mpc::Engine& engine, const SealedSums& sums);

}  // namespace partita::methods::mle
