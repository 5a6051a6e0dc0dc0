// Values as TOML writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace partita::study {

// A text in quotes, over several lines if it has several.
std::string TomlText(std::string_view text);
std::string TomlTexts(const std::vector<std::string>& texts);

// Whether this is one TOML value: a number, true, a date, a list, a text in quotes.
bool IsTomlValue(const std::string& text);
// Whether it is a number, or where `date` is set a date.
bool IsTomlBound(const std::string& text, bool date);

}  // namespace partita::study
