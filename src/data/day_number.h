// Dates as tables write them (ISO 8601, "2024-02-29") and as analyses count them: days since
// 1970-01-01 in the proleptic Gregorian calendar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace partita::data {

// Empty unless the text is exactly YYYY-MM-DD and such a day exists.
std::optional<int64_t> DayNumber(std::string_view text);

// "2024-02-29"; years 0 to 9999.
std::string DayText(int64_t day);

}  // namespace partita::data
