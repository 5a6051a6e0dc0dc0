#include "base/password_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostPasswordBytes = 1 << 20;

}  // namespace

std::string ReadPasswordFile(const fs::path& file) {
  std::error_code ignored;
  const fs::perms others = fs::perms::group_all | fs::perms::others_all;
  if ((fs::status(file, ignored).permissions() & others) != fs::perms::none &&
      fs::exists(file, ignored)) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{}: other users may read the password", file.string()),
                fmt::format("run: chmod 600 {}", file.string()));
  }
  std::string password = ReadFile(file, kMostPasswordBytes, "the file of the password");
  while (password.ends_with('\n') || password.ends_with('\r')) password.pop_back();
  return password;
}

}  // namespace partita
