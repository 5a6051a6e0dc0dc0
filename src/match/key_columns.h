// The columns of a table that its rows are matched by, as texts: no cell is a number here, so that
// 0123 and 1e5 stay what they are.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/csv_reader.h"

namespace partita::match {

struct KeyCells {
  std::vector<std::vector<std::string>> columns;  // in the order asked for; a cell for each row
  std::vector<uint64_t> lines;                    // of each row in the file; the header is line 1
  size_t rows() const { return lines.size(); }
};

// A row: its line in the file, and its cells in the order asked for, to be moved away at will.
using KeyRowTaker = std::function<void(uint64_t line, std::span<std::string> cells)>;

// Reads the columns by their header names, a row after the other. Throws kBadData with file, line and
// character for what is no CSV, kBadInput if a column is not there or there twice, or for more rows
// than options.max_rows. Of the file's bytes `observer` sees all, in order.
void ReadKeyRows(const data::ByteSource& source, const std::string& source_name,
                 std::span<const std::string> columns, const data::CsvOptions& options,
                 const KeyRowTaker& take, const data::ByteObserver& observer = {});

// All of them at once, in memory.
KeyCells ReadKeyColumns(const data::ByteSource& source, const std::string& source_name,
                        std::span<const std::string> columns, const data::CsvOptions& options);

}  // namespace partita::match
