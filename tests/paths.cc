#include "tests/paths.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace partita {
namespace {

std::string Join(std::string folder, std::string_view below) {
  return below.empty() ? folder : folder.append("/").append(below);
}

}  // namespace

std::string SourcePath(std::string_view below) {
  const char* other = std::getenv("PARTITA_TEST_SOURCE");
  return Join(other != nullptr ? other : PARTITA_SOURCE_DIR, below);
}

std::string BinaryPath(std::string_view below) { return Join(PARTITA_BINARY_DIR, below); }

std::string FixturePath(std::string_view below) {
  std::string path = SourcePath(std::string("tests/").append(below));
  if (!std::filesystem::exists(path)) {
    throw std::runtime_error("the fixture tests/" + std::string(below) + " is missing");
  }
  return path;
}

}  // namespace partita
