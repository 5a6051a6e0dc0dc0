// Small text helpers of messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace partita::study {

// In single quotes for a message: control characters and what is not ASCII become '?', and long
// texts are cut, so that a hostile file cannot write to the reader's terminal.
std::string Quote(std::string_view text);

// Whether there are characters that a terminal obeys instead of showing: C0, DEL, C1, line
// separators and changes of writing direction. The text is valid UTF-8.
bool HasControl(std::string_view text);

// "did you mean 'columns'? known here: columns, name, rows" (at most sixteen names are listed).
std::string KnownNamesHint(std::string_view name, const std::vector<std::string>& known);

std::string Join(const std::vector<std::string>& parts, std::string_view separator = ", ");

}  // namespace partita::study
