#include "report/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/text_table.h"

namespace partita::report {
namespace {

std::string Print(const char* format, double value) {
  if (std::isnan(value)) return "NA";
  std::array<char, 400> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, value);
  return buffer.data();
}

}  // namespace

std::string Fixed3(double value) { return Print("%.3f", value); }

std::string Significant3(double value) { return Print("%.3g", value); }

std::string Percent(double share) { return Significant3(100 * share) + " %"; }

std::string Number4(double value) {
  constexpr double kAllFour = 1e4, kAllExact = 1e15;
  const bool whole = std::abs(value) < kAllExact && value == std::round(value);
  if (whole || (std::abs(value) >= kAllFour && std::abs(value) < kAllExact))
    return Print("%.0f", value == 0 ? 0 : value);
  return Print("%.4g", value);
}

std::string Number3(double value) {
  if (value == 0) return "0";
  return std::abs(value) < 0.1 ? Significant3(value) : Fixed3(value);
}

std::string NumberAt(double value, double standard_error) {
  constexpr int kMostDecimals = 9;
  if (std::isnan(value)) return "NA";
  if (!std::isfinite(standard_error) || standard_error <= 0) return Number3(value);
  const int decimals = 2 - static_cast<int>(std::floor(std::log10(standard_error)));
  if (decimals > kMostDecimals) return Significant3(value);
  const std::string text = fmt::format("{:.{}f}", value, std::max(decimals, 0));
  const bool zero = text.find_first_of("123456789") == std::string::npos;
  return zero && text[0] == '-' ? text.substr(1) : text;
}

std::string PValue(double value) { return value < 0.0005 ? "< 0.001" : Fixed3(value); }

std::string SuppressedCount(uint64_t count, uint64_t min_cell) {
  if (count > 0 && count < min_cell) return "fewer than " + FormatCount(min_cell);
  return FormatCount(count);
}

}  // namespace partita::report
