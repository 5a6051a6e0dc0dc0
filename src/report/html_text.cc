#include "report/html_text.h"

#include <algorithm>

namespace partita::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069: three bytes each.
bool ChangesDirection(std::string_view text) {
  if (text.size() < 3 || text[0] != '\xE2') return false;
  const auto second = static_cast<unsigned char>(text[1]);
  const auto third = static_cast<unsigned char>(text[2]);
  if (second == 0x80) return third == 0x8E || third == 0x8F || (third >= 0xAA && third <= 0xAE);
  return second == 0x81 && third >= 0xA6 && third <= 0xA9;
}

std::string Attribute(std::string_view name, std::string_view text) {
  if (text.empty()) return {};
  return " " + std::string(name) + "=\"" + Escape(text) + "\"";
}

// Cells with so much in them keep a width to read in on narrow screens.
constexpr size_t kSentence = 40;

// A share is not broken before its sign, on narrow screens. Markup has none within.
std::string WithWholeShares(std::string cell) {
  constexpr std::string_view kBreakable = " %", kWhole = "\xC2\xA0%";
  for (size_t at = 0; (at = cell.find(kBreakable, at)) != std::string::npos; at += kWhole.size())
    cell.replace(at, kBreakable.size(), kWhole);
  return cell;
}

std::string RenderRow(const HtmlTable& table, const HtmlTable::Row& row, std::string_view cell) {
  if (row.heading) {
    return "<tr><th class=\"group\" scope=\"rowgroup\" colspan=\"" +
           std::to_string(table.header.size()) + "\">" + row.cells.at(0) + "</th></tr>\n";
  }
  std::string out = "<tr>";
  for (size_t i = 0; i < row.cells.size(); ++i) {
    const bool number =
        std::find(table.numbers.begin(), table.numbers.end(), i) != table.numbers.end();
    const bool words = !number && row.cells[i].size() > kSentence;
    const std::string html = cell == "td" ? WithWholeShares(row.cells[i]) : row.cells[i];
    out += Element(cell, html, number ? "number" : words ? "words" : "");
  }
  return out + "</tr>\n";
}

}  // namespace

std::string Escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) {
      out += kReplacement;
    } else if (ChangesDirection(text.substr(i))) {
      out += kReplacement;
      i += 2;
    } else {
      out += c;
    }
  }
  return out;
}

std::string Element(std::string_view name, std::string_view html, std::string_view kind) {
  return "<" + std::string(name) + Attribute("class", kind) + ">" + std::string(html) + "</" +
         std::string(name) + ">";
}

std::string Paragraph(std::string_view text, std::string_view kind) {
  return Element("p", Escape(text), kind) + "\n";
}

std::string Bullets(const std::vector<std::string>& texts) {
  std::string items;
  for (const std::string& text : texts) items += Element("li", Escape(text)) + "\n";
  return texts.empty() ? "" : Element("ul", "\n" + items) + "\n";
}

std::string Code(std::string_view text) { return Element("code", Escape(text)); }

std::string Section(std::string_view id, std::string_view title, const std::string& html) {
  return "<section" + Attribute("id", id) + ">\n" + Element("h2", Escape(title)) + "\n" + html +
         "</section>\n";
}

std::string Definitions(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string out;
  for (const auto& [name, value] : items) {
    out += Element("dt", Escape(name)) + Element("dd", Escape(value)) + "\n";
  }
  return Element("dl", "\n" + out) + "\n";
}

std::string RenderHtmlTable(const HtmlTable& table) {
  std::string out;
  if (!table.caption.empty()) out += Element("caption", Escape(table.caption)) + "\n";
  out += Element("thead", RenderRow(table, {table.header, false}, "th")) + "\n";
  std::string body;
  for (const HtmlTable::Row& row : table.rows) body += RenderRow(table, row, "td");
  out += Element("tbody", "\n" + body) + "\n";
  return Element("div", Element("table", "\n" + out, table.kind), "table") + "\n";
}

std::string Figure(const std::vector<std::pair<std::string, std::string>>& data,
                   std::string_view label, std::string_view caption) {
  std::string out = "<figure";
  for (const auto& [name, value] : data) out += Attribute("data-" + name, value);
  return out + Attribute("data-label", label) + ">" + Element("figcaption", Escape(caption)) +
         "</figure>\n";
}

}  // namespace partita::report
