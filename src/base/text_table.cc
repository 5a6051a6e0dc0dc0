#include "base/text_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace partita {
namespace {

std::string Format(const char* format, double value, const char* unit) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, value);
  return std::string(buffer.data()) + unit;
}

std::string Whole(double value, const char* unit) {
  return std::to_string(static_cast<uint64_t>(value)) + unit;
}

void AppendRow(const std::vector<std::string>& row, const std::vector<size_t>& widths,
               const TextTable& table, size_t indent, std::string& out) {
  std::string line(indent, ' ');
  for (size_t i = 0; i < row.size(); ++i) {
    const std::string padding(widths[i] - TextWidth(row[i]), ' ');
    const bool right = std::find(table.right.begin(), table.right.end(), i) != table.right.end();
    if (i > 0) line += "  ";
    line += right ? padding + row[i] : row[i] + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

}  // namespace

size_t TextWidth(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // not a continuation byte
  }));
}

std::string CutText(std::string_view text, size_t longest) {
  if (TextWidth(text) <= longest) return std::string(text);
  size_t end = 0;
  for (size_t left = longest; end < text.size(); ++end) {
    const bool starts = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (starts && left-- <= 1) break;
  }
  return std::string(text.substr(0, end)) + "\u2026";
}

std::string RenderTable(const TextTable& table, size_t indent) {
  std::vector<size_t> widths;
  for (const std::string& cell : table.header) widths.push_back(TextWidth(cell));
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], TextWidth(row[i]));
  }
  std::string out;
  AppendRow(table.header, widths, table, indent, out);
  for (const auto& row : table.rows) AppendRow(row, widths, table, indent, out);
  return out;
}

std::string WrapText(std::string_view text, size_t indent) {
  std::string out, line(indent, ' ');
  bool is_empty = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!is_empty && TextWidth(line) + 1 + TextWidth(word) > kTextWidth) {
      out += line + "\n";
      line.assign(indent + 2, ' ');
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
  }
  return is_empty ? out + "\n" : out + line + "\n";
}

std::string FormatCount(uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string FormatBytes(uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {" kB", " MB", " GB", " TB", " PB", " EB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  // 999.95 would round to 1000.0.
  for (; value >= 999.95 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return Format("%.1f", value, kUnits[unit]);
}

std::string FormatSeconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "unknown";
  if (seconds < 0.9995) return Format("%.1f", seconds * 1000, " ms");
  if (seconds < 59.995) return Format("%.2f", seconds, " s");
  const double whole = std::round(seconds);
  if (whole < 3600) {
    return Whole(std::floor(whole / 60), " min ") + Whole(std::fmod(whole, 60), " s");
  }
  if (whole > 1e9) return "more than 30 years";
  return Whole(std::floor(whole / 3600), " h ") +
         Whole(std::floor(std::fmod(whole, 3600) / 60), " min");
}

}  // namespace partita
