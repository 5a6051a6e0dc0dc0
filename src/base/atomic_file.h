// Files that are there whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace partita {

// Writes `content` to a temporary file beside `path` (mode 0600: what is written here is its
// owner's), syncs it and renames it to `path`. On failure throws kUsage naming the path and the
// system's reason, removes the temporary file and leaves whatever was at `path`.
void WriteFileAtomically(const std::string& path, std::string_view content);

}  // namespace partita
