// What the protocol of method `glm` is given, and the public units that it computes in.
//
// Units    Columns are in [-1, 1] (spec.h). Sums of holders are divided by 2^row_bits, at least the
//          most rows there can be, and information and score by 2^weight_bits, at least the largest
//          working weight and the ridge: J = I / 2^(row_bits + weight_bits) has entries of at most 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "methods/glm/own_rows.h"
#include "methods/glm/spec.h"
#include "mpc/engine.h"
#include "run/method/row_holder.h"

namespace partita::methods::glm {

struct Units {
  int row_bits = 1, weight_bits = 0;
  // Of a row: |score| / 2^weight_bits (the first point's weighted predictor, too), Pearson's term.
  double most_score = 1, most_pearson = 1;
  double most_fit = 1;        // of a row, each number of fit_numbers.h
  stats::glm::Limits limits;  // of linear predictors
};

// Estimates open on grids of 2^-bits of their standard errors: the first point, those after it but
// the last, the last.
inline constexpr int kFirstGridBits = 2, kIterateGridBits = 4;

// Of gamma models at level sealed y / mu is at most this, so that scores and their squares fit; a row beyond
// it is beyond the limits.
inline constexpr double kMostSealedRatio = 256;

inline constexpr char kSmaller[] = "smaller-";

struct Task {
  Spec spec;
  std::vector<run::RowHolder> holders;  // each party once
  std::vector<size_t> table_sizes;      // of CountTables
  size_t classes = 1;
  bool hidden_rows = false;  // which of them match nobody knows (hidden.h)
  int input_bits = 0;        // of values before sums are formed (pushed_sums.h); 0: as they are
  Units units;
  int grid_bits = 6;                    // of what is released
  mpc::PartyIndex to = 0;               // the receiver, or mpc::kEverybody
  uint64_t rows_determined_beside = 0;  // by the sums of a smaller model (aggregates.h)
  std::string prefix;                   // of the names of its releases: of a smaller model kSmaller

  uint64_t max_rows() const;  // of the holders together, copies counted
  size_t num_columns() const { return spec.parameters.size(); }  // numbers of a point
  int GridBitsOf(int point) const;  // 0: the first, spec.steps: the last
};

// Of CountTables::total.
size_t NumCounts(const Task& task);

// Sets the units from spec and holders. Throws kBadInput for bounds and numbers of rows whose sums do
// not fit the integers of the engines.
void SetUnits(Task& task);

}  // namespace partita::methods::glm
