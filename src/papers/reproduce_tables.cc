#include <filesystem>
#include <vector>

#include "data/csv_reader.h"
#include "papers/reproduce.h"

namespace partita::papers {
namespace {

// Wider than any of these measurements: the experiment scales columns by their range.
constexpr double kWide = 1e6;

const std::vector<std::string> kWineColumns = {"fixed_acidity",
                                               "volatile_acidity",
                                               "citric_acid",
                                               "residual_sugar",
                                               "chlorides",
                                               "free_sulfur_dioxide",
                                               "total_sulfur_dioxide",
                                               "density",
                                               "pH",
                                               "sulphates",
                                               "alcohol",
                                               "quality"};
const std::vector<std::string> kAbaloneColumns = {
    "sex",          "length",         "diameter",       "height",
    "whole_weight", "shucked_weight", "viscera_weight", "shell_weight",
    "rings"};

data::Schema SchemaOf(const UciTable& table) {
  const bool abalone = std::string_view(table.name) == "abalone";
  data::Schema schema;
  for (const std::string& name : abalone ? kAbaloneColumns : kWineColumns) {
    data::ColumnSchema column;
    column.name = name;
    if (name == "sex") {
      column.type = data::ColumnType::kFactor;
      column.levels = {"M", "F", "I"};
      column.reference = "M";
    } else {
      column.lower = -kWide;
      column.upper = kWide;
    }
    schema.columns.push_back(std::move(column));
  }
  return schema;
}

}  // namespace

stats::blr::Table ReadUciTable(const std::string& folder, const UciTable& table) {
  const data::CsvContents csv =
      data::ReadCsvFile(std::filesystem::path(folder) / table.file, SchemaOf(table), {});
  data::RequireClean(csv.report);
  stats::blr::Table result{table.name, {}, table.train, table.test};
  const auto rows = static_cast<Eigen::Index>(csv.table.num_rows);
  result.values.resize(rows, static_cast<Eigen::Index>(csv.table.columns.size()));
  for (Eigen::Index c = 0; c < result.values.cols(); ++c) {
    const data::Column& column = csv.table.columns[static_cast<size_t>(c)];
    for (Eigen::Index r = 0; r < rows; ++r) {
      const auto row = static_cast<size_t>(r);
      result.values(r, c) = data::HasLevels(column.schema.type)
                                ? static_cast<double>(column.codes[row] > 0)
                                : column.numbers[row];
    }
  }
  return result;
}

}  // namespace partita::papers
