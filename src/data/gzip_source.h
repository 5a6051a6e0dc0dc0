// Tables compressed by gzip.
#pragma once

#include "data/byte_source.h"

namespace partita::data {

// Reads a file that gzip compressed, or one that it did not. Throws kBadInput, also later while
// reading, if it cannot be opened, is damaged or ends too early.
ByteSource OpenGzipFile(const std::filesystem::path& path);

}  // namespace partita::data
