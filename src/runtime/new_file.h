// Files that must not replace others.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string_view>

namespace partita::runtime {

// Creates the file with `mode` (as far as the user's mask allows) and writes all of `text`. Throws
// kUsage naming the path and the reason, also if the file exists; no half-written file stays.
void WriteNewFile(const std::filesystem::path& path, std::string_view text, mode_t mode);

}  // namespace partita::runtime
