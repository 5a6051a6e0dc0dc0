#include "runtime/envelope_uses.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "base/atomic_file.h"
#include "base/error.h"
#include "net/socket.h"
#include "study/utc_time.h"

namespace partita::runtime {
namespace {

constexpr char kSignAgain[] =
    "Sign the envelope again: partita study approve --envelope ENVELOPE.toml --party PARTY.";

[[noreturn]] void RefuseUse(const std::filesystem::path& file, const std::string& what,
                            const std::string& hint) {
  throw Error(ErrorCode::kRefused, fmt::format("{}: {}", file.string(), what), hint);
}

std::string HeaderOf(const crypto::Digest& envelope) {
  return "partita envelope uses 1 " + ToHex(envelope) + "\n";
}

// The open record, locked until it is closed.
class LockedRecord {
 public:
  LockedRecord(std::filesystem::path file, int access, int lock) : file_(std::move(file)) {
    // Whoever signs the envelope again replaces the record: lock the one that has the name now.
    do {
      Open(access);
      while (::flock(descriptor_.fd(), lock) != 0) {
        if (errno != EINTR) Fail("cannot lock the record of the envelope's uses");
      }
    } while (!HasTheName());
  }

  std::string Read() {
    std::string text;
    char buffer[4096];
    ssize_t got = 0;
    while ((got = ::read(descriptor_.fd(), buffer, sizeof buffer)) != 0) {
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) Fail("cannot read the record of the envelope's uses");
      text.append(buffer, static_cast<size_t>(got));
    }
    return text;
  }

  // If this fails, what was written of the line counts as a use.
  void Append(std::string_view line) {
    while (!line.empty()) {
      const ssize_t wrote = ::write(descriptor_.fd(), line.data(), line.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) Fail("cannot count this use of the envelope");
      line.remove_prefix(static_cast<size_t>(wrote));
    }
    if (::fsync(descriptor_.fd()) != 0) Fail("cannot count this use of the envelope");
  }

 private:
  void Open(int access) {
    descriptor_ = net::Socket(::open(file_.c_str(), access | O_CLOEXEC | O_NOFOLLOW));
    if (descriptor_.valid()) return;
    if (errno == ENOENT)
      RefuseUse(file_, "the record of the envelope's uses is missing", kSignAgain);
    Fail("cannot open the record of the envelope's uses");
  }
  bool HasTheName() const {
    struct stat locked {
    }, named{};
    return ::fstat(descriptor_.fd(), &locked) == 0 && ::stat(file_.c_str(), &named) == 0 &&
           locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
  }
  [[noreturn]] void Fail(const std::string& what) {
    const std::string reason = std::strerror(errno);
    RefuseUse(file_, what + ": " + reason, "Make it an ordinary file that this user may write to.");
  }

  std::filesystem::path file_;
  net::Socket descriptor_;
};

// Lines after the header, a torn one included.
uint64_t CountLines(std::string_view text, const std::filesystem::path& file,
                    const crypto::Digest& envelope) {
  const std::string header = HeaderOf(envelope);
  if (!text.starts_with(header))
    RefuseUse(file, "this is not the record of the envelope's uses", kSignAgain);
  const std::string_view uses = text.substr(header.size());
  const auto lines = std::count(uses.begin(), uses.end(), '\n');
  return static_cast<uint64_t>(lines) + (uses.empty() || uses.back() == '\n' ? 0 : 1);
}

}  // namespace

void StartEnvelopeUses(const std::filesystem::path& file, const crypto::Digest& envelope) {
  WriteFileAtomically(file.string(), HeaderOf(envelope));
}

uint64_t CountEnvelopeUse(const std::filesystem::path& file, const crypto::Digest& envelope,
                          uint64_t max_results, const crypto::Digest& study_file_hash,
                          int64_t now) {
  LockedRecord record(file, O_RDWR | O_APPEND, LOCK_EX);
  const std::string text = record.Read();
  const uint64_t used = CountLines(text, file, envelope);
  if (used >= max_results) {
    RefuseUse(file, fmt::format("all {} runs that the envelope allows are used up", max_results),
              "Approve the study by itself, or sign a new envelope.");
  }
  const bool torn = text.back() != '\n';
  record.Append(
      fmt::format("{}{} {}\n", torn ? "\n" : "", study::FormatUtc(now), ToHex(study_file_hash)));
  return used + 1;
}

uint64_t EnvelopeUses(const std::filesystem::path& file, const crypto::Digest& envelope) {
  return CountLines(LockedRecord(file, O_RDONLY, LOCK_SH).Read(), file, envelope);
}

}  // namespace partita::runtime
