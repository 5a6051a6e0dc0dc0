// What the protocol of method `mixed` is given, and the public numbers that it computes with.
//
// Ladder  lambda = tau^2 / sigma^2: 0, then steps of 2^(1/8) from 2^-6 over the most rows there can be,
//         below which groups change the estimates by nothing that opens, but no less than 2^-16, below
//         which slopes are too small for their signs; to 2^10, a correlation within groups of 0.999.
#pragma once

#include <cstdint>
#include <vector>

#include "methods/mixed/own_rows.h"
#include "mpc/engine.h"
#include "run/method/row_holder.h"

namespace partita::methods::mixed {

inline constexpr int kStepsOfOctave = 8, kLeastLambdaLog2 = -16, kMostLambdaLog2 = 10;
inline constexpr int kLeastOverRowsLog2 = -6;
inline constexpr uint64_t kMostMixedRows = uint64_t{1} << 28;

struct Task {
  Spec spec;
  std::vector<run::RowHolder> holders;  // each party once
  std::vector<size_t> table_sizes;      // of data::ModelCounts
  int grid_bits = 6;                    // of what is released
  mpc::PartyIndex to = 0;               // the receiver, or mpc::kEverybody

  uint64_t max_rows() const { return run::MostRows(holders); }
  size_t num_columns() const { return spec.columns.size(); }
  int row_bits() const;                 // 2^row_bits is at least the most rows, and 2
  int least_log2() const;               // of the ladder's first
  std::vector<double> Lambdas() const;  // 0, and the ladder
  double LogOfFirst() const;            // the natural logarithm of the ladder's first
};

// Of natural logarithms, between two neighbours of the ladder.
double LogStep();

}  // namespace partita::methods::mixed
