// A table of a result as text and as HTML: numbers to four significant digits, aligned to the
// right.
#pragma once

#include <string>

#include "base/cell_table.h"

namespace partita::report {

// Title and header, indented by two blanks, with an empty line in front of the title.
std::string CellTableText(const CellTable& table);
std::string CellTableHtml(const CellTable& table);

}  // namespace partita::report
