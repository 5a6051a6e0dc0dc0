#include "tests/paths.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace partita {
namespace {

std::string Join(std::string folder, std::string_view below) {
  return below.empty() ? folder : folder.append("/").append(below);
}

}  // namespace

// The reference data of ../shared are not part of the repository: where that folder is not there,
// asking for a file of it ends the test as skipped. Where it is there, nothing is skipped.
std::string SourcePath(std::string_view below) {
  const bool is_reference = below.starts_with("../shared/") &&
                            below.substr(below.rfind('/')).find('.') != std::string_view::npos;
  if (is_reference && !std::filesystem::exists(Join(PARTITA_SOURCE_DIR, "../shared"))) {
    std::cerr << "skipped: there are no reference data beside the repository, such as " << below
              << "\n";
    std::_Exit(77);  // SKIP_RETURN_CODE of all tests (cmake/partita.cmake)
  }
  return Join(PARTITA_SOURCE_DIR, below);
}

std::string BinaryPath(std::string_view below) { return Join(PARTITA_BINARY_DIR, below); }

}  // namespace partita
