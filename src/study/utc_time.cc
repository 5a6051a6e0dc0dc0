#include "study/utc_time.h"

#include <fmt/format.h>

#include <chrono>

namespace partita::study {
namespace {

constexpr int64_t kSecondsPerDay = 86'400;

// All of `text` as an unsigned number; empty if there is anything but digits.
std::optional<unsigned> Digits(std::string_view text) {
  unsigned value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + static_cast<unsigned>(c - '0');
  }
  return value;
}

// Seconds at the start of the day "YYYY-MM-DD".
std::optional<int64_t> ParseDay(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = Digits(text.substr(0, 4)), month = Digits(text.substr(5, 2)),
             day = Digits(text.substr(8, 2));
  if (!year || !month || !day || *year < 1970) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count() * kSecondsPerDay;
}

}  // namespace

int64_t NowUtc() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

std::string FormatUtc(int64_t utc) {
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(utc / kSecondsPerDay))};
  const int64_t second = utc % kSecondsPerDay;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     second / 3600, second / 60 % 60, second % 60);
}

std::optional<int64_t> ParseUtc(std::string_view text) {
  if (text.size() != 20 || text[10] != 'T' || text[13] != ':' || text[16] != ':' ||
      text[19] != 'Z') {
    return std::nullopt;
  }
  const auto day = ParseDay(text.substr(0, 10));
  const auto hour = Digits(text.substr(11, 2)), minute = Digits(text.substr(14, 2)),
             second = Digits(text.substr(17, 2));
  if (!day || !hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 59) {
    return std::nullopt;
  }
  return *day + 3600 * int64_t{*hour} + 60 * int64_t{*minute} + int64_t{*second};
}

std::optional<int64_t> ParseUntil(std::string_view text) {
  if (const auto day = ParseDay(text)) return *day + kSecondsPerDay - 1;
  return ParseUtc(text);
}

}  // namespace partita::study
