// Whether several sites mean the same by their columns, found without showing anybody a row.
//
// Each site makes a ShareSummary of its table and gives it to the others; Compare finds what does
// not fit together: a site that codes sex 1/2 instead of m/f, a decimal comma, a weight in grams.
//
// What a summary discloses, and nothing else (DescribeShare prints it):
//   - names, types, units and levels, which are the study file's own words;
//   - for each column, how large a share of the cells is missing, not of its type, out of bounds,
//     fractional: in the classes of ShareClass, where counts below min_cell look like none and all
//     but fewer than min_cell look like all;
//   - for each level of the dictionary, whether at least min_cell rows have it;
//   - how many different texts that are no level stand in at least min_cell rows each, never the
//     texts;
//   - for numbers, the half decade of the median size (one of "1 to 3.2", "3.2 to 10", "10 to 32",
//     ...), if at least min_cell cells are numbers other than 0;
//   - for keys, whether they are made of digits and whether all have one length.
// Not in it: rows, keys, counts, minima, maxima, means, unknown texts, the number of rows.
//
// A summary is not differentially private: it is coarse and suppressed, and shown to the parties of
// the study only.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/table_check.h"

namespace partita::data {

inline constexpr int kShareFormat = 1;
inline constexpr size_t kMaxShareBytes = size_t{1} << 22;

// How many of t cells something is true for. Below min_cell: kNone; t less than that: kAll.
// kSuppressed: t itself is below min_cell.
enum class ShareClass { kSuppressed, kNone, kFew, kSome, kMost, kAll };
// "suppressed", "none", "few" (below 5 %), "some" (below 50 %), "most", "all".
std::string_view ShareClassName(ShareClass share);
ShareClass ClassOf(uint64_t count, uint64_t total, uint64_t min_cell);

struct LevelShare {
  std::string level;
  bool present = false;  // in at least min_cell rows
};

struct ColumnShare {
  std::string name;
  ColumnType type = ColumnType::kNumeric;
  std::string unit;
  bool in_file = false;
  ShareClass missing = ShareClass::kSuppressed;  // of all cells
  // Of the cells present.
  ShareClass unreadable = ShareClass::kSuppressed;
  ShareClass other_decimal = ShareClass::kSuppressed;
  ShareClass fractional = ShareClass::kSuppressed;
  ShareClass below = ShareClass::kSuppressed, above = ShareClass::kSuppressed;
  ShareClass numbers_for_levels = ShareClass::kSuppressed;  // whole numbers that are no level
  std::vector<LevelShare> levels;
  uint64_t unknown_levels = 0;
  std::optional<int> half_decade;  // of the median size
  bool digit_keys = false;         // keys: all of digits
  bool keys_of_one_length = false;
};

struct ShareSummary {
  std::string study, party;
  std::string dictionary;  // SchemaDigest of the study's dictionary, hexadecimal
  uint64_t min_cell = 0;
  std::vector<ColumnShare> columns;
};

// study, party: names, for the other side. min_cell >= 1.
ShareSummary Summarise(const TableCheck& check, const Schema& dictionary, const std::string& study,
                       const std::string& party, uint64_t min_cell);

// What is in the summary, in words: for its owner to read before it leaves.
std::string DescribeShare(const ShareSummary& summary);

// JSON, and back. ParseShare is strict: unknown or missing keys, wrong types, and texts longer than
// kMaxShareBytes are kBadInput naming `source`.
std::string ShareJson(const ShareSummary& summary);
ShareSummary ParseShare(const std::string& text, const std::string& source);

struct HarmonyProblem {
  Severity severity = Severity::kProblem;
  std::string column;                // empty: the summaries as a whole
  std::vector<std::string> parties;  // where it is
  std::string what, fix;
};

// Worst first, then by column. Throws kBadInput with fewer than two summaries or two of one party.
std::vector<HarmonyProblem> Compare(std::span<const ShareSummary> summaries);

}  // namespace partita::data
