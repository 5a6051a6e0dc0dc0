// Well-formed UTF-8 (RFC 3629): what a text cell must be so that two parties' texts can be
// compared.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace partita::data {

bool IsUtf8(std::string_view text);

// Code points of a text; bytes that do not continue one count as one each.
size_t CountCodePoints(std::string_view text);

// A cell's text as a message shows it: cut to 40 characters, control characters and malformed bytes
// as '?'.
std::string Printable(std::string_view text);

// The text with every byte that continues no code point as U+FFFD: what may be printed.
std::string ReplaceMalformed(std::string_view text);

}  // namespace partita::data
