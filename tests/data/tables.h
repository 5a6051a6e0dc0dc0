// Short spellings of schemas and tables for tests.
#pragma once

#include <string>
#include <vector>

#include "data/csv_reader.h"

namespace partita::data {

inline ColumnSchema Numeric(const std::string& name, double lower = -10, double upper = 10) {
  ColumnSchema column;
  column.name = name;
  column.type = ColumnType::kNumeric;
  column.lower = lower;
  column.upper = upper;
  return column;
}

inline ColumnSchema Integer(const std::string& name, double lower = -10, double upper = 10) {
  ColumnSchema column = Numeric(name, lower, upper);
  column.type = ColumnType::kInteger;
  return column;
}

inline ColumnSchema Factor(const std::string& name, std::vector<std::string> levels) {
  ColumnSchema column;
  column.name = name;
  column.type = ColumnType::kFactor;
  column.levels = std::move(levels);
  return column;
}

inline ColumnSchema Ordered(const std::string& name, std::vector<std::string> levels,
                            Contrasts contrasts = Contrasts::kPolynomial) {
  ColumnSchema column = Factor(name, std::move(levels));
  column.type = ColumnType::kOrdered;
  column.contrasts = contrasts;
  return column;
}

// Bounds as days since 1970-01-01.
inline ColumnSchema Date(const std::string& name, double lower, double upper) {
  ColumnSchema column = Numeric(name, lower, upper);
  column.type = ColumnType::kDate;
  return column;
}

inline ColumnSchema Survival(const std::string& name, const std::string& time,
                             const std::string& event, double upper = 100) {
  ColumnSchema column = Numeric(name, 0, upper);
  column.type = ColumnType::kSurvival;
  column.time_column = time;
  column.event_column = event;
  return column;
}

inline ColumnSchema Key(const std::string& name) {
  ColumnSchema column;
  column.name = name;
  column.type = ColumnType::kKey;
  return column;
}

inline CsvContents Read(const std::string& text, const Schema& schema,
                        const CsvOptions& options = {}) {
  return ReadCsv(FromText(text), "t.csv", schema, options);
}

}  // namespace partita::data
