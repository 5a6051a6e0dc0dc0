// UTF-16, which ODBC's drivers speak.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace partita::data {

// Empty if the text is not well formed: half a surrogate pair, or no UTF-8.
std::optional<std::string> Utf8OfUtf16(std::u16string_view text);
std::optional<std::u16string> Utf16OfUtf8(std::string_view text);

}  // namespace partita::data
