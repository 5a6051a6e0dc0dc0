#include "tests/paths.h"

namespace partita {
namespace {

std::string Join(std::string folder, std::string_view below) {
  return below.empty() ? folder : folder.append("/").append(below);
}

}  // namespace

std::string SourcePath(std::string_view below) { return Join(PARTITA_SOURCE_DIR, below); }

std::string BinaryPath(std::string_view below) { return Join(PARTITA_BINARY_DIR, below); }

}  // namespace partita
