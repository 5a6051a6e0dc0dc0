#include "cli/terminal/units.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "base/error.h"

namespace partita::cli {
namespace {

double Parse(const std::string& text, const std::map<std::string, double>& units,
             const std::string& hint) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto unit = units.find(std::string(end, text.data() + text.size()));
  if (error != std::errc() || unit == units.end() || !std::isfinite(number) || number < 0) {
    throw Error(ErrorCode::kUsage, fmt::format("cannot read '{}'", text), hint);
  }
  return number * unit->second;
}

}  // namespace

std::chrono::microseconds ParseDuration(const std::string& text) {
  const double microseconds =
      Parse(text, {{"us", 1}, {"ms", 1e3}, {"s", 1e6}, {"m", 6e7}, {"h", 3.6e9}},
            "write a duration like 20ms, 1.5s or 10m");
  if (microseconds > 1e15) throw Error(ErrorCode::kUsage, fmt::format("'{}' is too long", text));
  return std::chrono::microseconds(std::llround(microseconds));
}

std::chrono::milliseconds MillisecondsOf(const std::string& duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(ParseDuration(duration));
}

double ParseBandwidth(const std::string& text) {
  const double bytes = Parse(
      text, {{"bit/s", 1.0 / 8}, {"kbit/s", 1e3 / 8}, {"Mbit/s", 1e6 / 8}, {"Gbit/s", 1e9 / 8}},
      "write a bandwidth like 100Mbit/s or 1Gbit/s");
  if (bytes <= 0) throw Error(ErrorCode::kUsage, "a bandwidth must be positive");
  return bytes;
}

}  // namespace partita::cli
