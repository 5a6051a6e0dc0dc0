#include "data/source/utf16.h"

#include <cstdint>

#include "data/utf8.h"

namespace partita::data {
namespace {

bool IsHigh(char16_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool IsLow(char16_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

void AppendUtf8(std::string& out, char32_t point) {
  const auto add = [&out](char32_t bits) { out += static_cast<char>(static_cast<uint8_t>(bits)); };
  if (point < 0x80) {
    add(point);
    return;
  }
  if (point < 0x800) {
    add(0xC0 | (point >> 6));
  } else {
    if (point < 0x10000) {
      add(0xE0 | (point >> 12));
    } else {
      add(0xF0 | (point >> 18));
      add(0x80 | ((point >> 12) & 0x3F));
    }
    add(0x80 | ((point >> 6) & 0x3F));
  }
  add(0x80 | (point & 0x3F));
}

}  // namespace

std::optional<std::string> Utf8OfUtf16(std::u16string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char32_t point = text[i];
    if (IsLow(text[i])) return std::nullopt;
    if (IsHigh(text[i])) {
      if (i + 1 == text.size() || !IsLow(text[i + 1])) return std::nullopt;
      point = 0x10000 + ((point - 0xD800) << 10) + (text[++i] - 0xDC00U);
    }
    AppendUtf8(out, point);
  }
  return out;
}

std::optional<std::u16string> Utf16OfUtf8(std::string_view text) {
  if (!IsUtf8(text)) return std::nullopt;
  std::u16string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<uint8_t>(text[i]);
    const size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    char32_t point = length == 1 ? first : first & (0x7FU >> length);
    for (size_t k = 1; k < length; ++k)
      point = (point << 6) | (static_cast<uint8_t>(text[i + k]) & 0x3FU);
    i += length;
    if (point < 0x10000) {
      out += static_cast<char16_t>(point);
    } else {
      out += static_cast<char16_t>(0xD800 + ((point - 0x10000) >> 10));
      out += static_cast<char16_t>(0xDC00 + ((point - 0x10000) & 0x3FF));
    }
  }
  return out;
}

}  // namespace partita::data
