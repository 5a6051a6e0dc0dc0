// A client's row of a table as the vector that it submits to a collection with [regression].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "data/csv_reader.h"
#include "sums/file/collection_file.h"
#include "sums/regression/rows.h"

namespace partita::cli {

struct TableFormat {
  std::string separator = ",", decimal = ".";
};
// --separator and --decimal.
void AddTableFormat(CLI::App& command, TableFormat& format);
data::CsvContents ReadTable(const std::string& file, const TableFormat& format,
                            const data::Schema& schema);

// A collection file; throws kBadInput if it has no [regression].
sums::CollectionFile LoadRegression(const std::string& path);
// Throws kBadInput if `collection` has no [regression].
void RequireRegression(const sums::CollectionFile& collection);

struct RowOfTable {
  std::string file;
  uint64_t row = 1;  // from 1
  TableFormat format;
};
struct EncodedRow {
  std::vector<double> vector;
  sums::regression::Rows row;  // the one row, and what is clipped of it
};
// Throws kBadData for a cell that is missing or no number, kUsage for a row that is not there,
// kBadInput for another table than the collection's, or a collection without [regression].
EncodedRow EncodeRowOfTable(const sums::CollectionFile& collection, const RowOfTable& source);

}  // namespace partita::cli
