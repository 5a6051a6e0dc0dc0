// From sums on shares to the sample moments that a sealed fit works with: nobody learns the number
// of rows, of all or of a group.
#pragma once

#include <string>
#include <vector>

#include "methods/mle/shared_moments.h"
#include "mpc/engine.h"

namespace partita::methods::mle {

// f_in of this protocol.
inline constexpr int kSealedInputBits = 30;

// One group's sample moments on shares at kSealedBits, of (y - centre) / half-width of every
// variable.
struct SealedSample {
  mpc::Shared weight;      // 1 x 1: its part of the rows; not used with one group
  mpc::Shared mean;        // p x 1; not used without a mean structure
  mpc::Shared covariance;  // p x p, divisor n
};

struct SealedSums {
  std::vector<SharedMoments> groups;
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
