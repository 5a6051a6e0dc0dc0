#include "data/utf8.h"

#include <cstdint>

namespace partita::data {

namespace {

uint8_t Byte(char c) { return static_cast<uint8_t>(c); }
bool IsContinuation(char c) { return (Byte(c) & 0xC0) == 0x80; }

// Length of the well-formed sequence at the start of `text`, 0 if there is none (RFC 3629, section
// 4: no overlong forms, no surrogates, nothing above U+10FFFF).
size_t SequenceLength(std::string_view text) {
  uint8_t first = Byte(text[0]);
  if (first < 0x80) return 1;
  size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[i])) return 0;
  }
  uint8_t second = Byte(text[1]);
  bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  bool surrogate = first == 0xED && second > 0x9F;
  bool too_large = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    size_t length = SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

size_t CountCodePoints(std::string_view text) {
  size_t count = 0;
  while (!text.empty()) {
    size_t length = SequenceLength(text);
    text.remove_prefix(length == 0 ? 1 : length);
    ++count;
  }
  return count;
}

std::string ReplaceMalformed(std::string_view text) {
  std::string whole;
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    whole += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return whole;
}

std::string Printable(std::string_view text) {
  constexpr size_t kMaxShown = 40;
  std::string shown;
  for (size_t count = 0; !text.empty(); ++count) {
    if (count == kMaxShown) return shown + "...";
    size_t length = SequenceLength(text);
    bool control = length == 0 || Byte(text[0]) < 0x20 || text[0] == 0x7F;
    shown += control ? std::string_view("?") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return shown;
}

}  // namespace partita::data
