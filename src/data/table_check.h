// A table against its dictionary: every problem at once, for its owner.
//
// ReadCsv stops at the first cell that it cannot use, because a study cannot go on with it. A
// steward who prepares a table wants the whole list instead, with the lines to look at. Everything
// here depends on data and is for the owner only; what may be shown to the other parties is made of
// it by harmonise.h.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/byte_source.h"
#include "data/csv_reader.h"
#include "data/holding.h"
#include "data/partition.h"

namespace partita::data {

enum class Severity { kNote, kWarning, kProblem };
std::string_view SeverityName(Severity severity);  // "note", "warning", "problem"

struct TableProblem {
  Severity severity = Severity::kProblem;
  std::string column;           // empty: the whole table
  std::string what;             // "'tall' is not a number"
  std::string fix;              // what to do about it
  uint64_t count = 0;           // cells or rows
  std::vector<uint64_t> lines;  // of the first of them, kMaxProblemLines at most
};

inline constexpr size_t kMaxProblemLines = 5;
// Different texts that are kept of the cells that fit nothing.
inline constexpr size_t kMaxStrangeTexts = 20;

// Half decades of |x|: class k holds 10^(k/2) <= |x| < 10^((k+1)/2).
inline constexpr int kMinHalfDecade = -40, kMaxHalfDecade = 40;

// Counts of one column's cells.
struct ColumnFacts {
  ColumnSchema schema;
  bool in_file = false;
  uint64_t cells = 0, missing = 0;
  uint64_t unreadable = 0;     // not of the type: not a number, not a level, not a date
  uint64_t not_whole = 0;      // integers only
  uint64_t other_decimal = 0;  // of the unreadable: numbers if the decimal mark were the other one
  uint64_t below = 0, above = 0;
  uint64_t whole = 0, fractional = 0;       // of the readable numbers
  std::vector<uint64_t> level_counts;       // factor and ordered: by level
  std::map<std::string, uint64_t> strange;  // texts of unreadable cells, kMaxStrangeTexts at most
  uint64_t strange_numbers = 0;             // of the unreadable cells of a factor: whole numbers
  std::array<uint64_t, kMaxHalfDecade - kMinHalfDecade + 1> half_decades{};
  // Keys: how many are made of digits alone, and the shortest and longest (in characters).
  uint64_t digit_keys = 0;
  size_t shortest_key = 0, longest_key = 0;

  uint64_t present() const { return cells - missing; }
};

struct TableCheck {
  std::string source;
  uint64_t num_rows = 0;
  std::vector<ColumnFacts> columns;
  std::vector<TableProblem> problems;  // worst first, then in the order of the schema

  bool usable() const;  // no problem of the severity kProblem
};

struct TableCheckOptions {
  CsvOptions csv;
  bool allow_missing = false;  // the study copes with incomplete rows: missing cells are notes
  // Variables whose patterns of missing values are counted, as a note: rows count with what they
  // have. Empty: incomplete rows are dropped.
  std::vector<std::string> patterns_of;
  // Variables whose missing cells are counted by themselves: their rows stay.
  std::vector<std::string> counted_of;
};

// Checks `source` as the table of `party` (an index into the partition's roster): its columns are
// there; cells are of their type, within bounds, among the levels; missing cells; constant columns;
// keys present, without outer spaces, unique within each shared block; blocks known and of their
// declared size, or at least of that of a matched one (of a hidden one it says nothing of a list);
// records as long as the header. Bytes that are no CSV end the list, as a problem with their line.
// Throws kBadInput as SchemaForParty does, and for files that cannot be read.
TableCheck CheckTable(const ByteSource& source, std::string source_name, const Schema& dictionary,
                      const Partition& partition, size_t party, const RowColumns& row_columns,
                      const TableCheckOptions& options);

}  // namespace partita::data
