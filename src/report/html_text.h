// HTML from text. Every function that takes `text` escapes it; what takes or returns `html` is
// markup. Nothing else in the report writes a text of a study into a page.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace partita::report {

// For element content and for attribute values in double quotes. Control characters that HTML does
// not allow, and changes of writing direction, become U+FFFD.
std::string Escape(std::string_view text);

// <name class="kind">html</name>; without a kind no attribute.
std::string Element(std::string_view name, std::string_view html, std::string_view kind = {});
std::string Paragraph(std::string_view text, std::string_view kind = {});
std::string Bullets(const std::vector<std::string>& texts);
std::string Code(std::string_view text);

// A section with a heading of its own: <section id><h2>title</h2>html</section>.
std::string Section(std::string_view id, std::string_view title, const std::string& html);

// Two columns, name and value: both text.
std::string Definitions(const std::vector<std::pair<std::string, std::string>>& items);

// Cells are markup, so that they can hold formulas: escape texts. `numbers`: columns aligned to the
// right. `heading` rows span all columns.
struct HtmlTable {
  struct Row {
    std::vector<std::string> cells;
    bool heading = false;
  };
  std::string caption;  // text
  std::vector<std::string> header;
  std::vector<size_t> numbers;
  std::vector<Row> rows;
  std::string kind;  // class of the table

  void Add(std::vector<std::string> cells) { rows.push_back({std::move(cells), false}); }
  void AddHeading(std::string cell) { rows.push_back({{std::move(cell)}, true}); }
};
std::string RenderHtmlTable(const HtmlTable& table);

// A place for a plot: what web/src/report.js draws into it, what a reader without pictures is told
// (`label`), and the caption. All text; `data` are names and values of data-* attributes.
std::string Figure(const std::vector<std::pair<std::string, std::string>>& data,
                   std::string_view label, std::string_view caption);

}  // namespace partita::report
