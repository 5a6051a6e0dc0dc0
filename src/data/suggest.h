// "did you mean": the nearest name for a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace partita::data {

// The candidate with the smallest edit distance, capital and small letters counted as equal, if it
// is at most a third of the name's length, rounded up or down (and 1 at least); empty if there is
// none.
std::string Nearest(std::string_view name, std::span<const std::string> candidates);

// "did you mean 'x1'?", or else "known names: 'x1', 'x2', ..." (the first ten).
std::string SuggestionHint(std::string_view name, std::span<const std::string> candidates);

}  // namespace partita::data
