// What a client's row adds to the sum.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/check_report.h"
#include "data/table.h"
#include "sums/regression/spec.h"

namespace partita::sums::regression {

// Of one column of the design, for the owner of the rows only: it depends on the data.
struct ClippedColumn {
  std::string name;
  uint64_t rows = 0;  // moved to the nearer bound
};

struct Rows {
  size_t count = 0;
  std::vector<double> values;          // row by row: the design's features, then the target
  std::vector<ClippedColumn> clipped;  // those with any
  uint64_t shortened = 0;              // rows beyond spec.row_norm

  std::span<const double> row(size_t index, size_t width) const {
    return std::span(values).subspan(index * width, width);
  }
};

// The table must have the variables of the spec (data::ReadCsv with spec.variables as schema).
// Values out of bounds are left as they are, and counted: encoding clips them. Throws kBadData for
// a missing cell, with its line.
Rows TakeRows(const Spec& spec, const stats::blr::Design& design, data::Table table,
              const data::CheckReport& report);
// One of them, with what is clipped of it alone.
Rows OneRow(const Rows& rows, size_t index, const Spec& spec, const stats::blr::Design& design);
// For new rows without an outcome: `variables` without the last, rows of features only.
Rows TakePredictorRows(const Spec& spec, const stats::blr::Design& design, data::Table table,
                       const data::CheckReport& report);

// The vector of one row, in scaled units, of ShapeOf's length. kStatistics: products of the scaled,
// clipped and rounded coordinates, every one a multiple of 2^-48 and at most 1 in magnitude, so
// that doubles hold it exactly (stats/blr/statistics.h). Throws kBadData for a value that is not a
// number. kSpread: the squares of the coordinates, the outcome's last.
std::vector<double> EncodeRow(const Spec& spec, const stats::blr::Design& design,
                              std::span<const double> values);

// Throws kBadData unless some row has `vector` as EncodeRow gives it, to the 6 decimals with which
// people write one. file: for the message.
void RequireOfARow(const Spec& spec, const stats::blr::Design& design,
                   std::span<const double> vector, const std::string& file);

// What is told to a client: "bmi: 2 of 40 rows lie beyond the bounds and were moved to them".
std::vector<std::string> ClippingNotes(const Rows& rows, const Spec& spec);

}  // namespace partita::sums::regression
