// Tables as CSV: what ReadCsv reads back.
#pragma once

#include <string>
#include <string_view>

#include "data/table.h"

namespace partita::data {

// The field, in quotes if it holds a quote, a line break or the separator.
std::string QuotedField(std::string_view text, char separator);

// A header line, then one line per row, commas and LF. Numbers in the fewest digits that give the
// same double, dates as dates, factors as their levels; missing cells are empty. Throws kUsage for
// survival columns.
std::string WriteCsv(const Table& table);

}  // namespace partita::data
