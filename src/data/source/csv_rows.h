// Rows that some reader hands out, as the bytes of CSV.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/byte_source.h"

namespace partita::data {

class TextRows {
 public:
  virtual ~TextRows() = default;
  virtual const std::vector<std::string>& names() const = 0;
  // The next row's cells, as texts; empty: missing. False if there is none.
  virtual bool Next(std::vector<std::string>& cells) = 0;
};

// A header line and a line a row, with commas and LF.
ByteSource CsvOfRows(std::unique_ptr<TextRows> rows);

// Throws kBadData, in the name of `source`, if a name is empty or there twice, or there is none.
void RequireColumnNames(const std::vector<std::string>& names, const std::string& source);

// Where a column stands among the source's. Throws kBadData where it is not there.
size_t PlaceOfColumn(const std::string& name, const std::vector<std::string>& names,
                     const std::string& source);

}  // namespace partita::data
