// Blanks at the ends of a text.
#pragma once

#include <string_view>

namespace partita {

// Without the spaces and tabs at both ends.
inline std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace partita
