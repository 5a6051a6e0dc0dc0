// Which cells of a column mean "missing".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/schema.h"

namespace partita::data {

// An empty cell, and the column's missing codes: as texts; where cells are numbers (numeric and integer columns,
// both columns of survival) also as numbers, since a database writes the code 999 as 999.00.
class MissingRule {
 public:
  // decimal: of the table's cells. A code may be written with either mark.
  MissingRule(const ColumnSchema& schema, char decimal);

  bool Has(std::string_view cell) const;

 private:
  std::vector<std::string> texts_;
  std::vector<double> numbers_;
  char decimal_;
};

}  // namespace partita::data
