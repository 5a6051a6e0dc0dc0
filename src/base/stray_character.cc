#include "base/stray_character.h"

#include <algorithm>

namespace partita {
namespace {

bool IsAscii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// Of the first byte after a string that starts at `at`: one on a single line ends with it at the
// latest.
size_t AfterString(std::string_view toml, size_t at) {
  const char quote = toml[at];
  const std::string_view three = quote == '"' ? "\"\"\"" : "'''";
  const bool long_string = toml.substr(at).starts_with(three);
  for (size_t i = at + (long_string ? 3 : 1); i < toml.size(); ++i) {
    if (quote == '"' && toml[i] == '\\') {
      ++i;
    } else if (long_string && toml.substr(i).starts_with(three)) {
      // One or two quotes before the closing three belong to the string.
      return std::min(toml.find_first_not_of(quote, i), std::min(toml.size(), i + 5));
    } else if (!long_string && (toml[i] == quote || toml[i] == '\n')) {
      return i + 1;
    }
  }
  return toml.size();
}

TextPosition PositionOf(std::string_view toml, size_t at) {
  TextPosition position{1, 1};
  for (size_t i = 0; i < at; ++i) {
    const bool continues = (static_cast<unsigned char>(toml[i]) & 0xC0) == 0x80;
    if (!continues) ++position.column;
    if (toml[i] == '\n') position = {position.line + 1, 1};
  }
  return position;
}

}  // namespace

std::optional<TextPosition> FindStrayCharacter(std::string_view toml) {
  size_t at = toml.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  while (at < toml.size()) {
    const char c = toml[at];
    if (c == '"' || c == '\'') {
      at = AfterString(toml, at);
    } else if (c == '#') {
      at = std::min(toml.find('\n', at), toml.size());
    } else if (!IsAscii(c)) {
      return PositionOf(toml, at);
    } else {
      ++at;
    }
  }
  return std::nullopt;
}

}  // namespace partita
