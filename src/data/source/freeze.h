// A table as it stands now, in a file that does not change: what was approved is what runs, whatever is
// written into the database at night.
#pragma once

#include <string>
#include <vector>

#include "data/csv_reader.h"

namespace partita::data {

struct FrozenTable {
  std::string csv;  // commas, points and LF; lines behind the header sorted by their bytes
  std::vector<std::string> columns;
  uint64_t rows = 0;
};

// The columns with these names, in this order; all of them if there is none. The same rows give the
// same bytes in whatever order they come. Throws kBadData for a name that is not there, and as ReadCsv
// for what is no CSV.
FrozenTable Freeze(const ByteSource& source, const std::string& source_name,
                   const std::vector<std::string>& names, const CsvOptions& options);

}  // namespace partita::data
