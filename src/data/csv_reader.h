// Reads a table from CSV as its schema says, in one pass over blocks of 256 KiB.
//
// Format     RFC 4180: a header line, then one record per line; fields may be quoted, a quoted one
//            may hold separators, line breaks and doubled quotes. Lines end with LF or CRLF; a
//            UTF-8 byte order mark is skipped; empty lines are accepted at the end only.
// Columns    Only those of the schema, found by their exact header names; others are skipped over
//            (but still counted: every record has as many fields as the header).
// Numbers    Decimal notation, optionally with an exponent, spaces around it allowed. Hexadecimal,
//            inf, nan and thousands separators are refused. Nearest double.
// Integers   As numbers, and the value is whole.
// Dates      ISO 8601, "2020-01-31", spaces around it allowed.
// Survival   Two columns: the time as a number, the event as 0 or 1; missing if either is.
// Texts      Levels and keys exactly as written, valid UTF-8. Keys are never missing and have no
//            space at either end, since such a key would match nobody's.
// Errors     kBadData with file, line, column name and character; the reader stops at the first.
//            Missing and out-of-bounds cells do not stop it: they are counted in the CheckReport,
//            and RequireClean turns them into an error. With CsvOptions::repair a cell never stops
//            it, only bytes that are no CSV, a header that lacks a column, and a key.
// Speed      A million rows of a key and ten numbers in 0.5 s (bench/data_bench.cc).
// Memory     The table, or the piece of it, plus one block or the longest record (max_record_bytes at
//            most).
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "data/byte_source.h"
#include "data/check_report.h"
#include "data/table.h"

namespace partita::data {

struct CsvOptions {
  char separator = ',';  // any ASCII character but a quote, a line break, a letter or a digit
  char decimal = '.';    // '.' or ','; differs from the separator
  // Nothing in a row stops the reader but its key: a number out of bounds becomes the nearest
  // bound, a cell that is not of its type counts as missing, and a record with more or fewer fields
  // than the header gives a neutral row (Table::neutral). All are counted.
  bool repair = false;
  // By record behind the header: those to read; null: all. Of others the cells are not looked at and
  // the table has no row. Borrowed.
  const std::vector<bool>* records = nullptr;
  uint64_t max_rows = 1'000'000'000;
  uint64_t max_columns = 100'000;
  uint64_t max_field_bytes = 1 << 20;
  uint64_t max_record_bytes = 1 << 24;
};

struct CsvContents {
  Table table;  // columns in the order of the schema
  CheckReport report;
};

// Is shown every byte of the source, once and in order: the snapshot commitment is taken from the
// same bytes that are parsed.
using ByteObserver = std::function<void(ByteView)>;

// What to do about a header that was read as one field because its table has another separator;
// empty: it does not look so.
std::string SeparatorHint(std::span<const std::string> header, char separator);

// source_name stands in messages. The schema must be valid (ValidateSchema). Throws kBadInput for
// impossible options, else kBadData as above.
CsvContents ReadCsv(const ByteSource& source, std::string source_name, const Schema& schema,
                    const CsvOptions& options, const ByteObserver& observer = {});

// Takes the next rows of a table, and what is known of the cells of all rows so far.
using PieceTaker = std::function<void(Table piece, const CheckReport& so_far)>;

// As ReadCsv, without ever having more than rows_per_piece rows: `take` gets one piece after the other,
// the last one shorter; a table without rows is one piece without. Returns the report of the whole.
CheckReport ReadCsvInPieces(const ByteSource& source, std::string source_name, const Schema& schema,
                            const CsvOptions& options, uint64_t rows_per_piece,
                            const PieceTaker& take, const ByteObserver& observer = {});

// Reads a file of any kind that OpenTableFile (source/open_table.h) knows; one that is not written as the
// study file says is read with commas and points, whatever `options` say. Throws as it does.
CsvContents ReadCsvFile(const std::filesystem::path& path, const Schema& schema,
                        const CsvOptions& options, const ByteObserver& observer = {});
CheckReport ReadCsvFileInPieces(const std::filesystem::path& path, const Schema& schema,
                                const CsvOptions& options, uint64_t rows_per_piece,
                                const PieceTaker& take, const ByteObserver& observer = {});

}  // namespace partita::data
