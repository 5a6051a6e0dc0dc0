#include "run/party/charged_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "crypto/state_file.h"

namespace partita::run {
namespace {

const crypto::StateKind& ChargedRunKind() {
  static const crypto::StateKind kind = {
      "partita charged run 1", "the file that says which charge a run has",
      "remove the whole folder at every party and run anew, as a new release"};
  return kind;
}

int LockFolder(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "lock";
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)),
                "check that you may write to the folder");
  }
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  const int error = errno;
  ::close(descriptor);
  throw Error(ErrorCode::kRefused,
              error == EWOULDBLOCK
                  ? fmt::format("another process runs this study in {}", folder.string())
                  : fmt::format("cannot lock {}: {}", file.string(), std::strerror(error)),
              "wait for it, or give this run another --folder");
}

}  // namespace

ChargedRun::ChargedRun(const std::filesystem::path& folder, const crypto::Digest& agreement_hash)
    : file_(folder / "charge"), agreement_hash_(agreement_hash) {
  std::filesystem::create_directories(folder);
  lock_ = LockFolder(folder);
  try {
    const std::optional<SecretBytes> kept = crypto::ReadState(ChargedRunKind(), file_);
    if (!kept) return;
    crypto::DecodeState(ChargedRunKind(), kept->Expose(), agreement_hash_,
                        [&](ByteReader& content) {
                          const ByteView id = content.Raw(crypto::Digest{}.size());
                          std::copy(id.begin(), id.end(), run_id_.emplace().begin());
                        });
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kRefused) return;  // of another study
    ::close(lock_);
    throw;
  }
}

ChargedRun::~ChargedRun() { ::close(lock_); }

void ChargedRun::Begin(const crypto::Digest& run_id) {
  crypto::WriteState(file_, crypto::EncodeState(ChargedRunKind(), agreement_hash_, run_id));
  run_id_ = run_id;
}

}  // namespace partita::run
