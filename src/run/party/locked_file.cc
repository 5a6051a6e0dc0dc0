#include "run/party/locked_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace partita::run {

LockedFile::LockedFile(const std::filesystem::path& file, const std::string& name) {
  const std::string lock = file.string() + ".lock";
  lock_ = net::Socket(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  int result = lock_.valid() ? 0 : -1;
  if (lock_.valid()) {
    while ((result = ::flock(lock_.fd(), LOCK_EX)) != 0 && errno == EINTR) continue;
  }
  if (result == 0) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("cannot lock {}, {}: {}", name, lock, std::strerror(errno)),
              "check that you may write to the folder of the table");
}

}  // namespace partita::run
