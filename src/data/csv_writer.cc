#include "data/csv_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/date.h"
#include "base/error.h"

namespace partita::data {
namespace {

void AppendField(std::string& text, std::string_view field, char separator) {
  const auto needs_quotes = [separator](char c) {
    return c == '"' || c == '\r' || c == '\n' || c == separator;
  };
  if (std::none_of(field.begin(), field.end(), needs_quotes)) {
    text += field;
    return;
  }
  text += '"';
  for (const char c : field) {
    text += c;
    if (c == '"') text += c;
  }
  text += '"';
}

void AppendCell(const Column& column, size_t row, std::string& csv) {
  switch (column.schema.type) {
    case ColumnType::kNumeric:
    case ColumnType::kInteger:
      if (!std::isnan(column.numbers[row]))
        fmt::format_to(std::back_inserter(csv), "{}", column.numbers[row]);
      return;
    case ColumnType::kDate:
      if (!std::isnan(column.numbers[row])) csv += FormatDate(column.numbers[row]);
      return;
    case ColumnType::kFactor:
    case ColumnType::kOrdered:
      if (column.codes[row] >= 0)
        csv += QuotedField(column.schema.levels[static_cast<size_t>(column.codes[row])], ',');
      return;
    case ColumnType::kKey:
      csv += QuotedField(column.keys[row], ',');
      return;
    case ColumnType::kSurvival:
      break;
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("column '{}' has a type that is not written", column.schema.name));
}

}  // namespace

std::string QuotedField(std::string_view text, char separator) {
  std::string field;
  AppendField(field, text, separator);
  return field;
}

void AppendRecord(std::string& text, const std::vector<std::string>& fields, char separator) {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) text += separator;
    AppendField(text, fields[i], separator);
  }
  if (fields.size() == 1 && fields.front().empty()) text += "\"\"";
  text += '\n';
}

std::string WriteCsv(const Table& table) {
  std::string csv;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (c > 0) csv += ',';
    csv += QuotedField(table.columns[c].schema.name, ',');
  }
  csv += '\n';
  for (size_t row = 0; row < table.num_rows; ++row) {
    const size_t begin = csv.size();
    for (size_t c = 0; c < table.columns.size(); ++c) {
      if (c > 0) csv += ',';
      AppendCell(table.columns[c], row, csv);
    }
    if (csv.size() == begin) csv += "\"\"";  // an empty line would be no row
    csv += '\n';
  }
  return csv;
}

}  // namespace partita::data
