// A table wherever it lies, as the bytes of CSV: so that whatever reads, checks, hashes or repairs a CSV
// file does the same with a database or a file of another program.
//
// By the name of the file:
//   .toml                       a source file (source_file.h): a query in a database, or a file and how
//                               it is written
//   .gz                         CSV compressed by gzip
//   .frozen                     CSV with commas and points (freeze.h)
//   .sav .zsav .dta .sas7bdat .xpt
//                               SPSS, Stata and SAS (statistics_file.h)
//   any other                   CSV
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/byte_source.h"
#include "data/csv_reader.h"
#include "data/source/source_file.h"

namespace partita::data {

struct OpenedTable {
  ByteSource bytes;
  std::optional<CsvDialect> dialect = {};  // none: as the study file says
};

// Throws kBadInput if it cannot be opened or read, kUnreachable for a database that does not answer,
// kRefused for one that is asked as a role that may write; also later, while it is read.
OpenedTable OpenTable(const std::filesystem::path& path);

// The same for a table that studies run on, which they read more than once: throws kRefused for one that
// may change in between.
OpenedTable OpenTableFile(const std::filesystem::path& path);

// Whether the table is a query in a database, whose rows may differ the next time it is read. Throws
// kBadInput for a source file that is none.
bool IsDatabase(const std::filesystem::path& path);
// Whether studies run on frozen rows of it: a database, or a file whose source file names an edition.
bool MayChange(const std::filesystem::path& path);
// Of a source file, whether no rows are read of it: OpenTable refuses it.
bool GivesOnlySums(const std::filesystem::path& path);
// The names of its columns; the query is prepared, not run. Throws as OpenTable does.
std::vector<std::string> DatabaseColumns(const std::filesystem::path& path);

// The file that holds the rows: of a source file that names a file, that; else the table itself. Throws
// kBadInput for a source file that is none.
std::filesystem::path FileOfRows(const std::filesystem::path& path);

// The options with which a table is read: the study's, but for how it is written if that is known.
CsvOptions WithDialect(CsvOptions options, const std::optional<CsvDialect>& dialect);

}  // namespace partita::data
