// The header of a CSV table: the names of its columns (csv_reader.h says how they are written).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/csv_reader.h"
#include "data/csv_tokenizer.h"

namespace partita::data {

// Throws kBadInput for a separator or decimal mark that cannot be one.
void RequireDialect(const CsvOptions& options);

// The first record. Throws kBadData for an empty table, and for a name that is not UTF-8 or stands
// there twice.
std::vector<std::string> ReadHeader(CsvTokenizer& tokenizer);

// Throws kBadData if the header has no such column.
size_t FindColumn(const std::vector<std::string>& header, const std::string& name,
                  const std::string& source_name, char separator);

// Throws kBadData unless the table has every column that ReadCsvFile with this schema reads. Nothing
// behind the header is looked at, of a database the query is not run: two tables that differ in rows only
// pass or fail alike, with the same words. Throws as OpenTable does.
void RequireColumns(const std::filesystem::path& path, const Schema& schema,
                    const CsvOptions& options);

}  // namespace partita::data
