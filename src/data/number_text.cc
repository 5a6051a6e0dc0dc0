#include "data/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>

#include "base/trim.h"

namespace partita::data {

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Powers of ten that a double has exactly.
constexpr std::array<double, 16> kPowersOfTen = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

// Of at most 15 digits, perhaps a point among them, perhaps a minus before: a whole number below 2^53 over a power
// of ten, both exact, so that their quotient is the nearest double (W. D. Clinger, How to read floating point
// numbers accurately, 1990). Empty for anything else: that may be a number, too.
std::optional<double> ParseShort(std::string_view text) {
  constexpr size_t kMostDigits = 15;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > kMostDigits + 1) return std::nullopt;
  uint64_t digits = 0;
  size_t num_digits = 0, behind = 0;
  bool point = false;
  for (const char c : text) {
    if (IsDigit(c)) {
      digits = 10 * digits + static_cast<uint64_t>(c - '0');
      ++num_digits;
      behind += point ? 1 : 0;
    } else if (c == '.' && !point) {
      point = true;
    } else {
      return std::nullopt;
    }
  }
  if (num_digits == 0 || num_digits > kMostDigits) return std::nullopt;
  const double value = static_cast<double>(digits) / kPowersOfTen[behind];
  return negative ? -value : value;
}

// `text` has a '.' for the decimal mark.
std::optional<double> ParsePoint(std::string_view text) {
  if (const std::optional<double> value = ParseShort(text)) return value;
  if (text.starts_with('+')) {
    text.remove_prefix(1);  // std::from_chars takes no plus sign
    if (text.starts_with('-')) return std::nullopt;
  }
  // std::from_chars would take "inf" and "nan".
  size_t sign = text.starts_with('-') ? 1 : 0;
  if (text.size() == sign || !(IsDigit(text[sign]) || text[sign] == '.')) return std::nullopt;
  double value = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> ParseNumber(std::string_view text, char decimal) {
  text = Trim(text);
  if (decimal == '.') return ParsePoint(text);
  if (text.find('.') != std::string_view::npos) return std::nullopt;
  std::string point(text);
  std::replace(point.begin(), point.end(), decimal, '.');
  return ParsePoint(point);
}

}  // namespace partita::data
