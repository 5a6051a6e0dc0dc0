#include "data/number_text.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/trim.h"

namespace partita::data {

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// `text` has a '.' for the decimal mark.
std::optional<double> ParsePoint(std::string_view text) {
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
