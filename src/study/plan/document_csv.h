// A table of a result as CSV.
#pragma once

#include <string>

#include "study/plan/document.h"

namespace partita::study {

// A line of names, then one line per row, commas and LF. Numbers in the fewest digits that give the
// same double; those that are not available are empty.
std::string TableCsv(const DocumentTable& table);

}  // namespace partita::study
