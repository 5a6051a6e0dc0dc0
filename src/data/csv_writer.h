// Tables as CSV: what ReadCsv reads back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/table.h"

namespace partita::data {

// The field, in quotes if it holds a quote, a line break or the separator.
std::string QuotedField(std::string_view text, char separator);

// Appends a line of fields. Of one empty field it is "", since an empty line is no record.
void AppendRecord(std::string& text, const std::vector<std::string>& fields, char separator);

// A header line, then one line per row, commas and LF. Numbers in the fewest digits that give the
// same double, dates as dates, factors as their levels; missing cells are empty. Throws kUsage for
// survival columns.
std::string WriteCsv(const Table& table);

}  // namespace partita::data
