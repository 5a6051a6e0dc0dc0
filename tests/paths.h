#pragma once

#include <string>
#include <string_view>

namespace partita {

// Where the sources and the build of this checkout are: the folder itself, or a path below it
// ("docs/engines.md"). In one object of their own, so that all others are the same in every
// checkout. PARTITA_TEST_SOURCE in the environment names another checkout of the same revision to
// read the sources from.
std::string SourcePath(std::string_view below = {});
std::string BinaryPath(std::string_view below = {});

// The path of a table or reference value below tests/ ("tables/abalone.csv"). Throws, with its
// name, if it is not there: a test without its fixture fails. Not for initialisers of globals.
std::string FixturePath(std::string_view below);

}  // namespace partita
