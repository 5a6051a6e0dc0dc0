#include "report/numbers.h"

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

std::string PValue(double value) { return value < 0.0005 ? "< 0.001" : Fixed3(value); }

std::string SuppressedCount(uint64_t count, uint64_t min_cell) {
  if (count > 0 && count < min_cell) return "fewer than " + FormatCount(min_cell);
  return FormatCount(count);
}

}  // namespace partita::report
