#include "runtime/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "net/socket.h"

namespace partita::runtime {

void WriteNewFile(const std::filesystem::path& path, std::string_view text, mode_t mode) {
  const net::Socket file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  size_t written = 0;
  while (file.valid() && written < text.size()) {
    const ssize_t now = ::write(file.fd(), text.data() + written, text.size() - written);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) break;
    written += static_cast<size_t>(now);
  }
  if (file.valid() && written == text.size()) return;
  const std::string reason = std::strerror(errno);
  if (file.valid()) ::unlink(path.c_str());
  throw Error(ErrorCode::kUsage, fmt::format("cannot write {}: {}", path.string(), reason),
              "choose another name, or move an existing file away: nothing is overwritten");
}

}  // namespace partita::runtime
