#include "run/approval/uses_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/files.h"

namespace partita::run {
namespace {

// "partita envelope uses 1 DIGEST".
std::string HeaderOf(const CountedDocument& document, const crypto::Digest& digest) {
  return fmt::format("partita {} uses 1 {}\n", document.name, ToHex(digest));
}

}  // namespace

void UsesRecord::Start(const std::filesystem::path& file, const CountedDocument& document,
                       const crypto::Digest& digest) {
  WriteFileAtomically(file.string(), HeaderOf(document, digest));
}

UsesRecord::UsesRecord(std::filesystem::path file, const CountedDocument& document,
                       const crypto::Digest& digest, Access access)
    : file_(std::move(file)), document_(document) {
  const bool counts = access == Access::kCount;
  // Whoever signs the document again replaces the record: lock the one that has the name now.
  do {
    Open(counts ? O_RDWR | O_APPEND : O_RDONLY);
    Lock(counts ? LOCK_EX : LOCK_SH);
  } while (!HasTheName());
  const std::string text = Read();
  const std::string header = HeaderOf(document, digest);
  if (!text.starts_with(header))
    Refuse(fmt::format("this is not the record of the {}'s uses", document.name),
           document.sign_again);
  std::string_view uses = std::string_view(text).substr(header.size());
  while (!uses.empty()) {
    const size_t end = uses.find('\n');
    torn_ = end == std::string_view::npos;
    lines_.emplace_back(uses.substr(0, end));
    uses.remove_prefix(torn_ ? uses.size() : end + 1);
  }
}

void UsesRecord::Append(std::string_view line) {
  const std::string whole = fmt::format("{}{}\n", torn_ ? "\n" : "", line);
  std::string_view rest = whole;
  while (!rest.empty()) {
    const ssize_t wrote = ::write(descriptor_.fd(), rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) Fail(fmt::format("cannot count this use of the {}", document_.name));
    rest.remove_prefix(static_cast<size_t>(wrote));
  }
  if (::fsync(descriptor_.fd()) != 0)
    Fail(fmt::format("cannot count this use of the {}", document_.name));
  lines_.emplace_back(line);
  torn_ = false;
}

void UsesRecord::Refuse(const std::string& what, const std::string& hint) const {
  throw Error(ErrorCode::kRefused, fmt::format("{}: {}", file_.string(), what), hint);
}

void UsesRecord::Open(int access) {
  descriptor_ = net::Socket(::open(file_.c_str(), access | O_CLOEXEC | O_NOFOLLOW));
  if (descriptor_.valid()) return;
  if (errno == ENOENT) {
    Refuse(fmt::format("the record of the {}'s uses is missing", document_.name),
           document_.sign_again);
  }
  Fail(fmt::format("cannot open the record of the {}'s uses", document_.name));
}

void UsesRecord::Lock(int kind) {
  while (::flock(descriptor_.fd(), kind) != 0) {
    if (errno != EINTR)
      Fail(fmt::format("cannot lock the record of the {}'s uses", document_.name));
  }
}

bool UsesRecord::HasTheName() const {
  struct stat locked {
  }, named{};
  return ::fstat(descriptor_.fd(), &locked) == 0 && ::stat(file_.c_str(), &named) == 0 &&
         locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

std::string UsesRecord::Read() {
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = ::read(descriptor_.fd(), buffer, sizeof buffer)) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) Fail(fmt::format("cannot read the record of the {}'s uses", document_.name));
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

void UsesRecord::Fail(const std::string& what) const {
  const std::string reason = std::strerror(errno);
  Refuse(what + ": " + reason, "Make it an ordinary file that this user may write to.");
}

}  // namespace partita::run
