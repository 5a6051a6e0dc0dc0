#include "base/utc_time.h"

#include <fmt/format.h>

#include <chrono>

#include "base/date.h"

namespace partita {
namespace {

constexpr int64_t kSecondsPerDay = 86'400;

// Seconds at the start of the day "YYYY-MM-DD".
std::optional<int64_t> ParseDay(std::string_view text) {
  const std::optional<double> days = ParseDate(text);
  if (!days || *days < 0) return std::nullopt;
  return static_cast<int64_t>(*days) * kSecondsPerDay;
}

}  // namespace

int64_t NowUtc() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

std::string FormatUtc(int64_t utc) {
  const int64_t second = utc % kSecondsPerDay;
  const int64_t day = utc / kSecondsPerDay;
  return fmt::format("{}T{:02}:{:02}:{:02}Z", FormatDate(static_cast<double>(day)), second / 3600,
                     second / 60 % 60, second % 60);
}

std::optional<int64_t> ParseUtc(std::string_view text) {
  if (text.size() != 20 || text[10] != 'T' || text[13] != ':' || text[16] != ':' ||
      text[19] != 'Z') {
    return std::nullopt;
  }
  const auto day = ParseDay(text.substr(0, 10));
  const auto hour = ParseDigits(text.substr(11, 2)), minute = ParseDigits(text.substr(14, 2)),
             second = ParseDigits(text.substr(17, 2));
  if (!day || !hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 59) {
    return std::nullopt;
  }
  return *day + 3600 * int64_t{*hour} + 60 * int64_t{*minute} + int64_t{*second};
}

std::optional<int64_t> ParseUntil(std::string_view text) {
  if (const auto day = ParseDay(text)) return *day + kSecondsPerDay - 1;
  return ParseUtc(text);
}

}  // namespace partita
