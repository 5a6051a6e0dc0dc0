#include "privacy/rounded_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "base/int128.h"

namespace partita::privacy {
namespace {

// A double has at most 767 significant digits, and its decimal 309 before and 1074 after the point.
constexpr int kAllDigits = 770;
constexpr int kAllDecimals = 1080;
constexpr int kDeltaDigits = 6;
constexpr double kDeltaHair = 0x1p-50, kPrintedHair = 0x1p-51;

std::string Exact(double magnitude, std::chars_format format, int precision) {
  std::array<char, 1500> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), magnitude, format, precision);
  if (end.ec != std::errc()) throw Error(ErrorCode::kInternal, "a number has too many digits");
  return {text.data(), end.ptr};
}

// Cuts the decimal digits (with one point or none) after `kept` characters; away from 0 if anything
// is cut. A carry out of the front adds a digit there.
std::string CutDigits(const std::string& digits, size_t kept, bool away) {
  std::string cut = digits.substr(0, kept);
  const bool exact = std::all_of(digits.begin() + static_cast<std::ptrdiff_t>(kept), digits.end(),
                                 [](char c) { return c == '0' || c == '.'; });
  if (exact || !away) return cut;
  for (size_t i = cut.size(); i-- > 0;) {
    if (cut[i] == '.') continue;
    if (cut[i] != '9') {
      ++cut[i];
      return cut;
    }
    cut[i] = '0';
  }
  return "1" + cut;
}

}  // namespace

std::string RoundedText(double value, int digits, bool up) {
  if (std::isnan(value)) throw Error(ErrorCode::kInternal, "a bound is no number");
  if (value == 0) return "0";
  if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
  const std::string exact = Exact(std::abs(value), std::chars_format::scientific, kAllDigits);
  const size_t e = exact.find('e');
  std::string mantissa = exact.substr(0, e);
  mantissa.erase(1, 1);  // the point
  int exponent = std::atoi(exact.c_str() + e + 1);
  std::string cut = CutDigits(mantissa, static_cast<size_t>(digits), up == (value > 0));
  if (cut.size() > static_cast<size_t>(digits)) {
    cut.pop_back();
    ++exponent;
  }
  // So few digits come out of the nearest double as they went in; beyond its range they stay as
  // they are.
  const std::string decimal =
      fmt::format("{}{}.{}e{}", value < 0 ? "-" : "", cut[0], cut.substr(1), exponent);
  const double shown = std::strtod(decimal.c_str(), nullptr);
  return std::isnormal(shown) ? fmt::format("{:.{}g}", shown, digits) : decimal;
}

std::string PercentText(double share, int decimals, bool up) {
  const std::string exact =
      Exact(std::clamp(share, 0.0, 1.0), std::chars_format::fixed, kAllDecimals);
  const size_t point = exact.find('.');
  std::string cut = CutDigits(exact, point + 3 + static_cast<size_t>(decimals), up);
  // "0.1234" is "012.34": the point moves by two.
  cut.erase(point, 1);
  cut.insert(point + 2, ".");
  const size_t first = std::min(cut.find_first_not_of('0'), cut.find('.') - 1);
  cut.erase(0, first);
  if (decimals == 0) cut.pop_back();
  return cut + " %";
}

double OneMinus(double x) {
  const double difference = 1 - x;
  // Exact where x is above 1/2, and so is the way back where it is not.
  return 1 - difference > x ? std::nextafter(difference, 2.0) : difference;
}

std::string PartText(uint64_t part, uint64_t whole, bool up) {
  constexpr uint64_t kHundredths = 10000;
  if (part == 0) return "0 %";
  const UInt128 scaled = UInt128{part} * kHundredths + (up ? whole - 1 : 0);
  const auto hundredths = static_cast<uint64_t>(scaled / whole);
  return fmt::format("{}.{:02} %", hundredths / 100, hundredths % 100);
}

std::string GivenText(double value, int digits, bool up) {
  const std::string shown = fmt::format("{:.{}g}", value, digits);
  return std::strtod(shown.c_str(), nullptr) == value ? shown : RoundedText(value, digits, up);
}

double AccountedDelta(double delta) { return delta * (1 - kDeltaHair); }

std::string DeltaText(double delta) {
  return RoundedText(delta * (1 - kPrintedHair), kDeltaDigits, true);
}

}  // namespace partita::privacy
