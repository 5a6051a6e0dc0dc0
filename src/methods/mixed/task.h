// What the protocol of method `mixed` is given, and the public numbers that it computes with.
//
// Ladder    lambda = tau^2 / sigma^2: 0, then steps of 2^(1/8) from 2^-6 over the most rows there can
//           be, or 2^16 if they are more, below which groups change the estimates by nothing that opens,
//           to 2^10, a correlation within groups of 0.999.
// Residual  At the ladder's first point the slope is R (profile.h) times 2^-3.5 times that lambda times
//           how far the groups' variance is from what rows alone would make of it. With an error of
//           2^-56 in it, R of at least LeastResidual leaves its sign right where that is a hundredth. Beyond
//           2^22 rows the error is that of the shared sums, 2^(row_bits - 72) over the rows there are.
#pragma once

#include <cstdint>
#include <vector>

#include "methods/mixed/own_rows.h"
#include "mpc/engine.h"
#include "mpc/functions/covariance_grid.h"
#include "run/method/row_holder.h"

namespace partita::methods::mixed {

inline constexpr int kStepsOfOctave = 8, kLeastLambdaLog2 = -6, kMostLambdaLog2 = 10;
inline constexpr int kMostLadderRowBits = 16;
inline constexpr uint64_t kMostMixedRows = uint64_t{1} << 28;

struct Task {
  Spec spec;
  std::vector<run::RowHolder> holders;  // each party once
  std::vector<size_t> table_sizes;      // of data::ModelCounts
  int grid_bits = 6;                    // of what is released
  mpc::PartyIndex to = 0;               // the receiver, or mpc::kEverybody

  uint64_t max_rows() const { return run::MostRows(holders); }
  size_t num_columns() const { return spec.columns.size(); }
  // As the AIC counts them: coefficients, the variance between groups, with a slope three numbers, and of linear models
  // the variance within.
  size_t num_parameters() const { return num_columns() + (spec.slope ? 4 : spec.linear() ? 2 : 1); }
  // Standard errors of coefficients, or their covariances.
  size_t num_errors() const {
    return spec.covariance ? mpc::NumCovariances(num_columns()) : num_columns();
  }
  // Where points open: coefficients and the deviation of intercepts, or psi.
  size_t num_of_point() const { return num_columns() + (spec.slope ? 4 : 1); }
  int row_bits() const;                 // 2^row_bits is at least the most rows, and 2
  int LeastLambdaLog2() const;          // of the ladder's first
  std::vector<double> Lambdas() const;  // 0, and the ladder
  double LogOfFirst() const;            // the natural logarithm of the ladder's first
  // R below it is no fit: the residual sum of squares over n, in squares of the outcome's unit.
  double LeastResidual() const;
};

// Of natural logarithms, between two neighbours of the ladder.
double LogStep();

}  // namespace partita::methods::mixed
