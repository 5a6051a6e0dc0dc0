// What a table's owner is told about its own data before a study uses it. Shown to the owner only:
// every number here depends on data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/schema.h"

namespace partita::data {

// Where a cell begins in its file; both count from 1. The character position counts Unicode code
// points of the line, the quote of a quoted cell included. line 0: there is no such cell.
struct CellPosition {
  uint64_t line = 0;
  uint64_t character = 0;
};

struct ColumnCheck {
  std::string name;
  ColumnType type = ColumnType::kNumeric;
  uint64_t missing = 0;
  CellPosition first_missing;
  uint64_t unusable =
      0;  // of those missing: not of the column's type; only where cells are repaired
  CellPosition first_unusable;
  uint64_t out_of_bounds = 0;  // of types with bounds; kept as read, unless cells are repaired
  CellPosition first_out_of_bounds;
  double lower = 0, upper = 0;      // the schema's bounds
  double minimum = 0, maximum = 0;  // of the cells present (numbers or codes); 0 without any
  bool constant = false;            // two or more cells present and all of them equal
};

struct CheckReport {
  std::string source;  // the file's name, for messages
  uint64_t num_rows = 0;
  std::vector<ColumnCheck> columns;  // in the order of the schema
  // Records with more or fewer fields than the header; only where cells are repaired.
  uint64_t ragged = 0, first_ragged_line = 0;
};

// What RequireClean lets pass.
struct CheckRules {
  // The study leaves out rows with missing cells (or models them) instead of refusing the table.
  bool allow_missing = false;
  // A column may be constant at one holder and vary over all of them when rows are split.
  bool allow_constant = false;
  // Nothing that depends on what is in a row may stop the study (data/repair.h).
  bool repaired = false;
};

// Throws kBadData unless the table has a row, no cell is missing or out of bounds, and no numeric,
// integer or date column is constant (a factor may be: a holder of one school has one level). The
// message names every offending column with its count and its first line.
void RequireClean(const CheckReport& report, const CheckRules& rules = {});

}  // namespace partita::data
