// What a table means: its columns, their types and public bounds. Written by hand by the table's
// owner; never derived from data.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace partita::data {

enum class ColumnType { kNumeric, kInteger, kFactor, kKey };

struct ColumnSchema {
  std::string name;
  ColumnType type = ColumnType::kNumeric;
  // Numeric and integer: public bounds, finite, lower < upper. Values outside are refused by their
  // owner.
  double lower = 0, upper = 0;
  std::string unit;
  // Factor: levels in order; the first is the reference unless `reference` says otherwise.
  std::vector<std::string> levels;
  std::string reference;
  // Cell texts that mean "missing", beside the empty cell.
  std::vector<std::string> missing_codes;
};

struct Schema {
  std::vector<ColumnSchema> columns;
  int max_rows_per_person = 1;

  // Null if there is no such column.
  const ColumnSchema* Find(std::string_view name) const;
};

}  // namespace partita::data
