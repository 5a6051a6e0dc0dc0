// Dates and times in documents: UTC, in seconds since 1970-01-01.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace partita {

// Years 1970 to 9999.
inline constexpr int64_t kMaxUtc = 253'402'300'799;

int64_t NowUtc();

// "2026-09-01T12:00:00Z". utc: 0 to kMaxUtc.
std::string FormatUtc(int64_t utc);
// Exactly what FormatUtc writes; empty for anything else.
std::optional<int64_t> ParseUtc(std::string_view text);
// The end of a validity as people write it: a day, "2026-12-31", which is then the last one, or a
// time as above. Empty for anything else.
std::optional<int64_t> ParseUntil(std::string_view text);

}  // namespace partita
