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
  std::vector<double> numbers;    // kNumeric, kInteger; NaN = missing
  std::vector<int32_t> codes;     // kFactor: index into levels; -1 = missing
  std::vector<std::string> keys;  // kKey
};

struct Table {
  size_t num_rows = 0;
  std::vector<Column> columns;
  // Throws kBadInput with "did you mean" if there is no such column.
  const Column& Get(std::string_view name) const;
};

}  // namespace partita::data
