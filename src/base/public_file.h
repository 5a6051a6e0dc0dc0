// Files that other users read.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace partita {

// As WriteFileAtomically (base/files.h), with `mode`, whatever the user's mask is: the file has it from the moment at
// which it has its name. A link of the name is replaced, never followed.
void WritePublicFile(const std::string& path, std::string_view content, mode_t mode);

}  // namespace partita
