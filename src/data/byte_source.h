// Where bytes of a table come from.
#pragma once

#include <filesystem>
#include <functional>

#include "base/bytes.h"

namespace partita::data {

// Fills `out` and returns how many bytes it wrote; fewer than out.size() only at the end.
using ByteSource = std::function<size_t(std::span<uint8_t> out)>;

// Reads a file from its beginning. Throws kBadInput, also later while reading, if it cannot be
// opened or read.
ByteSource OpenFile(const std::filesystem::path& path);

// Reads a text in memory, which must outlive the source.
ByteSource FromText(std::string_view text);

}  // namespace partita::data
