// A first dictionary from a table, for the table's owner to complete.
//
// What a draft may take from data: the names of the columns, their types, the texts of factors and
// the codes that look like "missing". What it never takes from data: bounds. They are public, and a
// bound that follows from the data tells everybody its smallest and largest value; the draft leaves
// them open, and the study file stays invalid until somebody who knows the instrument fills them
// in.
//
// The draft is for the owner only: its comment lines that begin with "#!" say what was seen in the
// file (ranges, counts, rare levels). They have to go before the draft is shown to anybody.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data/byte_source.h"

namespace partita::data {

// What the cells of one column look like. Every cell is counted in exactly one of the kinds.
struct ColumnProfile {
  std::string name;
  uint64_t cells = 0;
  uint64_t empty = 0;
  uint64_t missing_words = 0;       // "NA", ".", "null", ...: see missing_texts
  uint64_t whole_numbers = 0;       // "-3"
  uint64_t point_numbers = 0;       // "1.5", "1e3"
  uint64_t comma_numbers = 0;       // "1,5"
  uint64_t iso_dates = 0;           // "2024-02-29"
  uint64_t other_dates = 0;         // "29.02.2024", "2/29/2024"
  uint64_t texts = 0;               // anything else
  uint64_t leading_zeros = 0;       // of whole_numbers, "007"
  uint64_t outer_spaces = 0;        // cells of any kind that begin or end with a space
  uint64_t distinct = 0;            // different texts among the cells that are not missing
  double minimum = 0, maximum = 0;  // of the numbers that are not in `sentinels`
  std::string first_day, last_day;  // of the ISO dates
  std::map<std::string, uint64_t> missing_texts;
  std::set<std::string> some_texts;  // of `texts`, the first kMaxSomeTexts that differ
  // Numbers like -9 or 999 that lie far from all others, with their counts.
  std::map<std::string, uint64_t> sentinels;
  // Distinct texts with their counts, the missing ones left out; empty if there are more than
  // kMaxProfileLevels.
  std::map<std::string, uint64_t> values;

  uint64_t numbers() const { return whole_numbers + point_numbers + comma_numbers; }
  uint64_t present() const { return cells - empty - missing_words; }
};

inline constexpr size_t kMaxProfileLevels = 50, kMaxSomeTexts = 5;

struct TableProfile {
  std::string source;
  char separator = ',';
  char decimal = '.';
  bool says_dialect = false;  // the file's own source says how it is written: no study has to
  uint64_t num_rows = 0;
  std::vector<ColumnProfile> columns;
};

// separator: empty to take the one of , ; and tab that the header has most of. Throws kBadData for
// bytes that are no table (csv_reader.h) and for a header that names a column twice.
TableProfile ProfileTable(const ByteSource& source, std::string source_name,
                          std::optional<char> separator);
TableProfile ProfileTableFile(const std::filesystem::path& path, std::optional<char> separator);

// The separator that a source file names, else the one of , ; and tab that the header has most of;
// a comma for a database, which is not asked.
char FindSeparator(const std::filesystem::path& path);

// What the draft takes a column for. kFreeText: many different texts, of no use in a study file.
enum class DraftType { kNumeric, kInteger, kFactor, kOrdered, kDate, kKey, kFreeText, kEmpty };
DraftType GuessType(const ColumnProfile& column);
std::string_view DraftTypeName(DraftType type);  // "free text"

// Whether a variable of a study file may have this name (docs/study-file.md).
bool IsVariableName(const std::string& name);

// The draft: TOML with [table] and one [[variable]] for every usable column. Its numeric and date
// variables have no bounds, so that no study file is valid with it before they are filled in.
std::string DraftDictionary(const TableProfile& profile);

}  // namespace partita::data
