// Where the numbers of a table stand: rows of counts, columns of groups, cells of histograms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "methods/describe/spec.h"

namespace partita::methods::describe {

struct Layout {
  explicit Layout(const Spec& spec);

  bool grouped = false;
  size_t groups = 1;  // levels of the group; 1 without
  size_t arms = 1;    // columns of the table: the groups, then all rows together

  // Counts have a row for every value of a variable (one of all values where it is a number), and
  // one for missing cells where there may be any.
  std::vector<size_t> first_row;    // by variable
  std::vector<size_t> rows_of;      // by variable
  std::vector<size_t> variable_of;  // by row

  std::vector<size_t> numbers;  // the variables that are described by numbers

  size_t num_rows() const { return variable_of.size(); }
};

// The public cells that a number's values are counted in: of integers with at most `most` values
// one for each value, else as many equal intervals, of whole numbers of values where they are
// integers.
struct Cells {
  size_t count = 0;
  double lower = 0, width = 0;  // cell c has [lower + c width, lower + (c + 1) width)
  bool whole = false;           // integers
  // Neighbours on either side that a quantile's cell is looked at with: together they are 1/64 of
  // the range at least.
  size_t neighbours = 0;

  size_t Of(double value) const;
  // The middle of its values; a quantile of the rows is within half a cell of it.
  double Middle(size_t cell) const;
};
Cells CellsOf(const data::ColumnSchema& schema, size_t most = kMaxCells);

}  // namespace partita::methods::describe
