// What a holder makes of its own rows, in the clear, before it shares anything: the design in
// scaled columns, and the counts that are checked.
//
// Counts        tables one below the other. First those of which a cell may also be nobody: by
//               level of each factor, of each 0/1 variable, and where a product of 0/1 columns is 1;
//               of an outcome of 0 or 1, or of several classes, each by outcome. Then, for such an
//               outcome, the rows with each. Then, where errors are of clusters, their number (not
//               at level sealed). Then the rows. Rows
//               with frequencies count as often.
// Weights       Frequencies as they are; others divided by their upper bound. Rows with weight 0 do
//               not take part.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/int128.h"
#include "data/model_columns.h"
#include "data/table.h"
#include "methods/glm/spec.h"
#include "stats/glm/gaussian_moments.h"
#include "stats/glm/sums.h"

namespace partita::methods::glm {

struct CountTables : data::ModelCounts {
  explicit CountTables(const Spec& spec, const data::Schema& factors);
  bool clustered = false;
  size_t total() const { return num_cells + (classes > 1 ? classes : 0) + (clustered ? 1 : 0) + 1; }
};

struct OwnData {
  stats::glm::Rows rows;       // none where there are moments
  std::vector<Int128> counts;  // CountTables::total
  // Of a study that says the grid of values (Task::input_bits): what stands for the rows.
  std::optional<stats::glm::GaussianMoments> moments = {};

  // Rows, copies counted.
  double count() const { return moments ? static_cast<double>(moments->rows) : rows.count(); }
};

// Of a row: 0 or 1 of a factor of two levels, else scaled.
double OutcomeOf(const Outcome& outcome, const data::Column& column, size_t row);

// Names of the design columns that the model needs, the outcome's included.
std::vector<std::string> NeededColumns(const Spec& spec);

// rows: those that take part; no cell of theirs is missing, and no weight is 0.
OwnData OwnDataOf(const Spec& spec, const CountTables& tables, const data::Table& table,
                  const std::vector<size_t>& rows);
// Leaves the sums of rows on the grid 2^-bits in the place of the rows.
void TakeMoments(const Spec& spec, int bits, OwnData& own);
// Of a party without rows.
OwnData NoData(const Spec& spec, const CountTables& tables);

}  // namespace partita::methods::glm
