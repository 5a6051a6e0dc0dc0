// A table in memory, column by column, as read by its owner. Never leaves its owner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/schema.h"

namespace partita::data {

struct Column {
  ColumnSchema schema;
  // kNumeric, kInteger; kDate: days since 1970-01-01; kSurvival: time; kOrdered, once
  // AddDesignColumns has seen it and its contrasts are scores: 1, 2, ... NaN = missing.
  std::vector<double> numbers;
  std::vector<int32_t> codes;     // kFactor, kOrdered: index into levels; kSurvival: event, 0 or 1;
                                  // -1 = missing
  std::vector<std::string> keys;  // kKey
};

struct Table {
  size_t num_rows = 0;
  std::vector<Column> columns;
  // By row, 1: it is there, and contributes nothing (data/repair.h). Empty: there is no such row.
  std::vector<uint8_t> neutral = {};
  bool Neutral(size_t row) const { return !neutral.empty() && neutral[row] != 0; }
  // By row, 1: its owner has no row there, and all cells are missing: a position of a matched block
  // whose other rows are hidden (data/holding.h). Empty: there is no such position.
  std::vector<uint8_t> absent = {};
  bool Absent(size_t row) const { return !absent.empty() && absent[row] != 0; }
  // Throws kBadInput with "did you mean" if there is no such column.
  const Column& Get(std::string_view name) const;
};

}  // namespace partita::data
