// Plain text for people: aligned tables, wrapped paragraphs and numbers with units. Widths count
// characters (UTF-8), not bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

inline constexpr size_t kTextWidth = 100;  // columns of everything that is printed

// The header row and every other row have one cell per column; columns listed in `right` are
// aligned to the right. Columns are two blanks apart; no line ends in blanks.
struct TextTable {
  std::vector<std::string> header;
  std::vector<size_t> right;
  std::vector<std::vector<std::string>> rows;
};
std::string RenderTable(const TextTable& table, size_t indent);

// Breaks a paragraph at blanks into lines of at most kTextWidth characters; the first is indented
// by `indent`, the others by `indent + 2`. A longer word stands alone. Ends in a line break.
std::string WrapText(std::string_view text, size_t indent);

size_t TextWidth(std::string_view text);
// At most `longest` characters: a longer text loses its end for an ellipsis.
std::string CutText(std::string_view text, size_t longest);

std::string FormatCount(uint64_t count);    // "1,204,332"
std::string FormatBytes(uint64_t bytes);    // "512 B", "1.2 MB" (powers of 1000)
std::string FormatSeconds(double seconds);  // "0.3 ms", "1.25 s", "3 min 20 s", "2 h 5 min"

}  // namespace partita
