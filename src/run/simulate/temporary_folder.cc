#include "run/simulate/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"

namespace partita::run {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "partita-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorCode::kUsage,
                fmt::format("cannot make a folder like {}: {}", name, std::strerror(errno)),
                "set TMPDIR to a folder that can be written");
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace partita::run
