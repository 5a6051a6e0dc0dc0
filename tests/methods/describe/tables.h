// Made-up tables of a clinic, in parts: numbers, an integer, a 0/1 variable and factors.
#pragma once

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "data/table.h"
#include "methods/describe/spec.h"

namespace partita::methods::describe::testing {

inline data::ColumnSchema Number(const std::string& name, data::ColumnType type, double lower,
                                 double upper) {
  data::ColumnSchema schema;
  schema.name = name;
  schema.type = type;
  schema.lower = lower;
  schema.upper = upper;
  return schema;
}

inline data::ColumnSchema Factor(const std::string& name, std::vector<std::string> levels) {
  data::ColumnSchema schema;
  schema.name = name;
  schema.type = data::ColumnType::kFactor;
  schema.levels = std::move(levels);
  return schema;
}

// age, score (0 to 30), smoker, stage (three levels), by arm (two levels).
inline Spec ClinicSpec(bool grouped, bool missing) {
  Spec spec;
  for (const data::ColumnSchema& schema : {Number("age", data::ColumnType::kNumeric, 18, 98),
                                           Number("score", data::ColumnType::kInteger, 0, 30),
                                           Number("smoker", data::ColumnType::kInteger, 0, 1),
                                           Factor("stage", {"one", "two", "three"})})
    spec.variables.push_back({schema, schema.name});
  if (grouped) spec.group = Variable{Factor("arm", {"control", "treated"}), "arm"};
  spec.quantiles = {250, 500, 750};
  spec.missing = missing;
  return spec;
}

struct ClinicRow {
  double age = 50, score = 10, smoker = 0;  // not a number: missing
  int32_t stage = 0, arm = 0;               // -1: missing
};

inline data::Table ClinicTable(const std::vector<ClinicRow>& rows) {
  data::Table table;
  table.num_rows = rows.size();
  const auto column = [&](const data::ColumnSchema& schema, auto get) {
    data::Column made;
    made.schema = schema;
    for (const ClinicRow& row : rows) {
      if (schema.levels.empty()) {
        made.numbers.push_back(get(row));
      } else {
        made.codes.push_back(static_cast<int32_t>(get(row)));
      }
    }
    table.columns.push_back(std::move(made));
  };
  const Spec spec = ClinicSpec(true, true);
  column(spec.variables[0].schema, [](const ClinicRow& row) { return row.age; });
  column(spec.variables[1].schema, [](const ClinicRow& row) { return row.score; });
  column(spec.variables[2].schema, [](const ClinicRow& row) { return row.smoker; });
  column(spec.variables[3].schema, [](const ClinicRow& row) { return row.stage; });
  column(spec.group->schema, [](const ClinicRow& row) { return row.arm; });
  return table;
}

inline std::vector<ClinicRow> DrawRows(std::mt19937_64& random, size_t rows, double missing) {
  std::normal_distribution<double> age(55, 12), score(12, 5);
  std::uniform_real_distribution<double> uniform;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::vector<ClinicRow> drawn;
  for (size_t r = 0; r < rows; ++r) {
    const auto lost = [&] { return uniform(random) < missing; };
    ClinicRow row;
    row.age = lost() ? kNone : std::clamp(age(random), 18.0, 98.0);
    row.score = lost() ? kNone : std::clamp(std::round(score(random)), 0.0, 30.0);
    row.smoker = lost() ? kNone : (uniform(random) < 0.3 ? 1 : 0);
    row.stage = lost() ? -1 : static_cast<int32_t>(random() % 3);
    row.arm = static_cast<int32_t>(random() % 2);
    drawn.push_back(row);
  }
  return drawn;
}

}  // namespace partita::methods::describe::testing
