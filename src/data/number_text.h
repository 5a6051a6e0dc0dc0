// Numbers as tables write them.
#pragma once

#include <optional>
#include <string_view>

namespace partita::data {

// The nearest double of a decimal number with an optional exponent; spaces and tabs around it are
// skipped. `decimal` is '.' or ','. Empty for anything else: hexadecimal, inf, nan, thousands
// separators, and numbers beyond the range of double.
std::optional<double> ParseNumber(std::string_view text, char decimal);

}  // namespace partita::data
