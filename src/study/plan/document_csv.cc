#include "study/plan/document_csv.h"

#include <fmt/format.h>

#include <cmath>
#include <variant>
#include <vector>

#include "data/csv_writer.h"

namespace partita::study {
namespace {

std::string CsvField(const DocumentCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const double number = std::get<double>(cell);
  return std::isnan(number) ? "" : fmt::format("{}", number);
}

}  // namespace

std::string TableCsv(const DocumentTable& table) {
  std::string csv;
  data::AppendRecord(csv, table.columns, ',');
  for (const std::vector<DocumentCell>& row : table.rows) {
    std::vector<std::string> fields;
    for (const DocumentCell& cell : row) fields.push_back(CsvField(cell));
    data::AppendRecord(csv, fields, ',');
  }
  return csv;
}

}  // namespace partita::study
