// A look at TOML text before toml++ parses it.
//
// TOML allows characters outside ASCII in strings and comments only. toml++ 3.3 does not refuse all
// others: its tables of blanks run into undefined behaviour for most of them (its function
// is_non_ascii_horizontal_whitespace), so they are found here first.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace partita {

// 1-based; columns count characters.
struct TextPosition {
  size_t line = 0, column = 0;
};

// Of the first character that is not ASCII and stands neither in a string nor in a comment, a byte
// order mark at the start aside. Empty if there is none.
std::optional<TextPosition> FindStrayCharacter(std::string_view toml);

inline constexpr char kStrayCharacterHint[] =
    "put texts between straight double quotes (\"); names and numbers are plain ASCII";

}  // namespace partita
