// A small regression for tests.
#pragma once

#include <string>

#include "data/csv_reader.h"
#include "sums/regression/spec.h"

namespace partita::sums::regression {

inline data::ColumnSchema Number(const std::string& name, double lower, double upper) {
  data::ColumnSchema column;
  column.name = name;
  column.lower = lower;
  column.upper = upper;
  return column;
}

// y on x in [-2, 6] and the factor g of three levels.
inline Spec SmallSpec() {
  Spec spec;
  data::ColumnSchema factor;
  factor.name = "g";
  factor.type = data::ColumnType::kFactor;
  factor.levels = {"a", "b", "c"};
  factor.reference = "a";
  spec.variables.columns = {Number("x", -2, 6), factor, Number("y", 0, 100)};
  return spec;
}

inline data::CsvContents Read(const Spec& spec, const std::string& text) {
  return data::ReadCsv(data::FromText(text), "rows.csv", spec.variables, {});
}

}  // namespace partita::sums::regression
