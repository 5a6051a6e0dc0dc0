#pragma once

#include <string>
#include <string_view>

namespace partita {

// Where the sources and the build of this checkout are: the folder itself, or a path below it
// ("docs/engines.md"). In one object of their own, so that all others are the same in every
// checkout.
std::string SourcePath(std::string_view below = {});
std::string BinaryPath(std::string_view below = {});

}  // namespace partita
