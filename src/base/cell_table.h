// A table of texts and numbers that belongs to a result: shown on terminals and pages, and written
// to JSON, by the report (report/cell_tables.h).
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace partita {

// Numbers are shown to four significant digits, whole numbers and those above 10,000 to the unit,
// and written in full to JSON; NaN: not available.
using TableCell = std::variant<std::string, double>;

struct CellTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<TableCell>> rows;  // each as long as columns
};

}  // namespace partita
