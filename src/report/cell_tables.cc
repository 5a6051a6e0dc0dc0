#include "report/cell_tables.h"

#include "base/text_table.h"
#include "report/html_text.h"
#include "report/numbers.h"

namespace partita::report {
namespace {

constexpr char kNoCell[] = "-";  // of a row that a column says nothing of

// A p-value is never 0: doubles end before it does.
std::string CellText(const CellTable& table, size_t column, const TableCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const double number = std::get<double>(cell);
  return number == 0 && table.columns[column] == "p-value" ? "< 1e-300" : Number4(number);
}

bool IsNumber(const TableCell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr || *text == kNoCell;
}

// Columns without a text in them.
std::vector<size_t> NumberColumns(const CellTable& table) {
  std::vector<size_t> columns;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    bool numbers = true;
    for (const std::vector<TableCell>& row : table.rows) numbers = numbers && IsNumber(row.at(c));
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
