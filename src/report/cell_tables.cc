#include "report/cell_tables.h"

#include "base/text_table.h"
#include "report/html_text.h"
#include "report/numbers.h"

namespace partita::report {
namespace {

constexpr char kNoCell[] = "-";  // of a row that a column says nothing of
constexpr char kWithheld[] = "withheld";

// A p-value is never 0: doubles end before it does.
std::string CellText(const CellTable& table, size_t column, const TableCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const double number = std::get<double>(cell);
  return number == 0 && table.columns[column] == "p-value" ? "< 1e-300" : Number4(number);
}

// "12", "1e-05", "3.5 to 4", "withheld".
bool IsNumber(const TableCell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr || *text == kNoCell || *text == kWithheld) return true;
  const bool has_digit = text->find_first_of("0123456789") != std::string::npos;
  return has_digit && text->find_first_not_of("0123456789.e+- to") == std::string::npos;
}

// Columns of nothing but numbers; the first one may have names that look like them.
std::vector<size_t> NumberColumns(const CellTable& table) {
  std::vector<size_t> columns;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    bool numbers = true;
    for (const std::vector<TableCell>& row : table.rows)
      numbers =
          numbers && IsNumber(row.at(c)) && (c > 0 || !std::holds_alternative<std::string>(row[c]));
    if (numbers) columns.push_back(c);
  }
  return columns;
}

}  // namespace

std::string CellTableText(const CellTable& table) {
  TextTable text{table.columns, NumberColumns(table), {}};
  for (const std::vector<TableCell>& row : table.rows) {
    std::vector<std::string> cells;
    for (size_t c = 0; c < row.size(); ++c) cells.push_back(CellText(table, c, row[c]));
    text.rows.push_back(std::move(cells));
  }
  return (table.title.empty() ? "" : "\n" + WrapText(table.title + ":", 2)) + RenderTable(text, 2);
}

std::string CellTableHtml(const CellTable& table) {
  HtmlTable html;
  html.caption = table.title;
  html.numbers = NumberColumns(table);
  for (const std::string& column : table.columns) html.header.push_back(Escape(column));
  for (const std::vector<TableCell>& row : table.rows) {
    std::vector<std::string> cells;
    for (size_t c = 0; c < row.size(); ++c) cells.push_back(Escape(CellText(table, c, row[c])));
    html.Add(std::move(cells));
  }
  return RenderHtmlTable(html);
}

}  // namespace partita::report
