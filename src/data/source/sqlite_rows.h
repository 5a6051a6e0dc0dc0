// The rows of a query in an SQLite file, which is opened for reading only.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "data/source/csv_rows.h"
#include "data/source/source_file.h"

namespace partita::data {

// Whole numbers and reals as the shortest text that gives them back, texts as they are, NULL as
// missing. A blob is refused (kBadData).
std::unique_ptr<TextRows> OpenSqlite(const SourceFile& source);

// What SQLite says of a source (base/sqlite.h).
Error SqliteSourceFailed(const std::string& file, int result_code, const std::string& reason);

}  // namespace partita::data
