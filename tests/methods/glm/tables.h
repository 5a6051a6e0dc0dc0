// The tables that R's fits are of (tests/references/glm/families.json), with a dictionary, as one or
// in parts.
#pragma once

#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "data/table.h"
#include "methods/glm/model.h"
#include "methods/glm/own_rows.h"
#include "stats/glm/fit.h"
#include "tests/paths.h"

namespace partita::methods::glm::testing {

inline data::ColumnSchema Number(const std::string& name, double lower, double upper,
                                 data::ColumnType type = data::ColumnType::kNumeric) {
  data::ColumnSchema schema;
  schema.name = name;
  schema.type = type;
  schema.lower = lower;
  schema.upper = upper;
  return schema;
}

inline data::ColumnSchema Integer(const std::string& name, double lower, double upper) {
  return Number(name, lower, upper, data::ColumnType::kInteger);
}

inline data::ColumnSchema Factor(const std::string& name, std::vector<std::string> levels) {
  data::ColumnSchema schema;
  schema.name = name;
  schema.type = data::ColumnType::kFactor;
  schema.levels = std::move(levels);
  return schema;
}

// Of "gpl/birthwt.csv", "gpl/quine.csv" or "abalone.csv".
inline data::Schema DictionaryOf(const std::string& table) {
  data::Schema schema;
  if (table == "gpl/birthwt.csv") {
    schema.columns = {Integer("low", 0, 1),  Integer("age", 10, 50), Integer("lwt", 50, 300),
                      Integer("race", 1, 3), Integer("smoke", 0, 1), Integer("ht", 0, 1),
                      Integer("ui", 0, 1),   Integer("ftv", 0, 6)};
  } else if (table == "gpl/quine.csv") {
    schema.columns = {Factor("Eth", {"A", "N"}), Factor("Sex", {"F", "M"}),
                      Factor("Age", {"F0", "F1", "F2", "F3"}), Factor("Lrn", {"AL", "SL"}),
                      Integer("Days", 0, 100)};
  } else if (table == "winequality_red.csv") {
    schema.columns = {Number("volatile_acidity", 0, 2), Number("alcohol", 8, 15),
                      Number("sulphates", 0, 2), Number("quality", 0, 10)};
  } else if (table == "winequality_white.csv") {
    schema.columns = {Number("volatile_acidity", 0, 2), Number("alcohol", 8, 15),
                      Number("citric_acid", 0, 2), Number("residual_sugar", 0.5, 70)};
  } else if (table == "breast_cancer_wdbc.csv") {
    schema.columns = {Number("mean_texture", 5, 50), Number("mean_smoothness", 0.04, 0.2),
                      Number("mean_symmetry", 0.1, 0.4), Integer("benign", 0, 1)};
  } else {
    schema.columns = {Factor("sex", {"F", "I", "M"}), Number("length", 0.05, 1),
                      Number("whole_weight", 0.001, 3), Number("shell_weight", 0, 1.2),
                      Integer("rings", 1, 30)};
  }
  return schema;
}

inline std::vector<std::string> FieldsOf(const std::string& line) {
  std::vector<std::string> fields;
  std::stringstream cells(line);
  for (std::string field; std::getline(cells, field, ',');) {
    if (field.size() >= 2 && field.front() == '"') field = field.substr(1, field.size() - 2);
    fields.push_back(field);
  }
  return fields;
}

// Row r is in part r modulo `parts`.
inline std::vector<data::Table> ReadParts(const std::string& name, const data::Schema& dictionary,
                                          size_t parts) {
  std::ifstream file(FixturePath("tables/" + name));
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = FieldsOf(line);
  std::vector<data::Table> tables(parts);
  for (data::Table& table : tables) {
    for (const data::ColumnSchema& schema : dictionary.columns) {
      table.columns.emplace_back();
      table.columns.back().schema = schema;
    }
  }
  for (size_t row = 0; std::getline(file, line); ++row) {
    const std::vector<std::string> fields = FieldsOf(line);
    data::Table& table = tables[row % parts];
    ++table.num_rows;
    for (data::Column& column : table.columns) {
      const auto at = std::find(header.begin(), header.end(), column.schema.name) - header.begin();
      const std::string& field = fields[static_cast<size_t>(at)];
      const std::vector<std::string>& levels = column.schema.levels;
      if (levels.empty()) {
        column.numbers.push_back(std::stod(field));
      } else {
        column.codes.push_back(
            static_cast<int32_t>(std::find(levels.begin(), levels.end(), field) - levels.begin()));
      }
    }
  }
  return tables;
}

inline std::vector<data::Table> ReadParts(const std::string& name, size_t parts) {
  return ReadParts(name, DictionaryOf(name), parts);
}

struct PlainModel {
  Spec spec;
  data::Schema factors;
};

inline PlainModel PlainModelOf(const std::string& family, const std::string& formula,
                               const data::Schema& dictionary, const std::string& link = "") {
  PlainModel model;
  stats::glm::Law law = stats::glm::LawByName(family);
  for (const stats::glm::Link known : LinksOf(law.family)) {
    if (LinkName(known) == link) law.link = known;
  }
  model.spec = ModelOf(law, formula, dictionary, {});
  model.factors = FactorsOf(model.spec, dictionary, {});
  return model;
}

// Of all rows of a table with a weight.
inline OwnData DataOf(const PlainModel& model, data::Table table, const data::Schema& dictionary) {
  data::AddDesignColumns(table, dictionary, model.spec.made, NeededColumns(model.spec));
  std::vector<size_t> rows(table.num_rows);
  std::iota(rows.begin(), rows.end(), size_t{0});
  const std::string& weights = model.spec.weights;
  std::erase_if(rows,
                [&](size_t r) { return !weights.empty() && table.Get(weights).numbers[r] == 0; });
  return OwnDataOf(model.spec, CountTables(model.spec, model.factors), table, rows);
}

inline stats::glm::Limits LimitsOfModel(const Spec& spec) {
  return stats::glm::LimitsOf(spec.law, spec.outcome.lower, spec.outcome.upper);
}

inline stats::glm::Rows Joined(const std::vector<OwnData>& parts) {
  std::vector<stats::glm::Rows> rows;
  for (const OwnData& part : parts) rows.push_back(part.rows);
  return stats::glm::Pooled(rows);
}

}  // namespace partita::methods::glm::testing
