// Calendar dates as whole numbers of days, which is how the computation sees them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace partita {

// The number that `text`, of one to nine characters, writes with decimal digits and nothing else.
std::optional<unsigned> ParseDigits(std::string_view text);

// Days since 1970-01-01 (negative before) of an ISO 8601 date "YYYY-MM-DD" of the Gregorian
// calendar, years 0001 to 9999; empty for anything else.
std::optional<double> ParseDate(std::string_view text);

// "YYYY-MM-DD"; `days` is whole and in the range above.
std::string FormatDate(double days);

}  // namespace partita
