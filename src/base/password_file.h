// A password that a file holds, beside settings that name the file.
#pragma once

#include <filesystem>
#include <string>

namespace partita {

// Line ends at its end are none of it. Throws kRefused if others than the owner may read the file, kBadInput if it
// cannot be read.
std::string ReadPasswordFile(const std::filesystem::path& file);

}  // namespace partita
