// What a holder makes of its own rows, in the clear, before it shares anything.
//
// Counts  data/model_columns.h, with a covariance also group_pairs.h, of rows, or where a person may have several rows of groups that have
//         such a row, as a group is a person's or more; of an outcome that is 0 or 1 then its zeros and ones, in the same
//         way; then the groups; then the rows.
#pragma once

#include <string>
#include <vector>

#include "base/int128.h"
#include "data/table.h"
#include "methods/mixed/spec.h"
#include "stats/mixed/laplace.h"
#include "stats/mixed/random_slope.h"

namespace partita::methods::mixed {

struct OwnData {
  stats::mixed::RowSums sums;           // of a linear model: of scaled columns and outcome
  std::vector<Int128> counts;           // of the tables, classes, groups, rows
  stats::mixed::GroupedRows rows = {};  // of a model that is not linear
  stats::mixed::SlopeSums slopes = {};  // of one with a slope, instead of `sums`
};

// Of the outcome: 2 if it is 0 or 1, else 1.
size_t ClassesOf(const Spec& spec);
data::ModelCounts CountsOf(const Spec& spec, const data::Schema& factors);

// Names of the design columns that the model needs, the outcome's included.
std::vector<std::string> NeededColumns(const Spec& spec);

// rows: those that take part; no cell of theirs is missing.
OwnData OwnDataOf(const Spec& spec, const data::ModelCounts& counts, bool count_groups,
                  const data::Table& table, const std::vector<size_t>& rows);
// Of a party without rows.
OwnData NoData(const Spec& spec, const data::ModelCounts& counts);

}  // namespace partita::methods::mixed
