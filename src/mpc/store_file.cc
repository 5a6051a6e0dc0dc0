#include "mpc/store_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace partita::mpc {
namespace {

class StoreFile : public StoreStorage {
 public:
  StoreFile(const std::string& path, bool create) : path_(path) {
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT | O_EXCL : 0);
    descriptor_ = ::open(path.c_str(), flags, 0600);
    if (descriptor_ < 0) Fail("open");
    // A lock of the open file, not of the process: it also keeps this process from a second one.
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const bool used = errno == EWOULDBLOCK;
      if (!used) FailAndClose("lock");
      ::close(descriptor_);
      throw Error(ErrorCode::kUsage, "the correlations in " + path + " are in use",
                  "wait for the other run, or give this one a store of its own");
    }
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) FailAndClose("read");
    if ((status.st_mode & 077) != 0) {
      ::close(descriptor_);
      throw Error(ErrorCode::kUsage, "the correlations in " + path + " can be read by others",
                  "take it for compromised and make new correlations; keep them at mode 0600");
    }
    if (create) SyncFolder();
  }
  StoreFile(const StoreFile&) = delete;
  StoreFile& operator=(const StoreFile&) = delete;
  ~StoreFile() override { ::close(descriptor_); }

  uint64_t Size() override {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) Fail("read");
    return static_cast<uint64_t>(status.st_size);
  }

  void Read(uint64_t offset, std::span<uint8_t> out) override {
    while (!out.empty()) {
      const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) Fail("read");
      if (got == 0) throw Error(ErrorCode::kInternal, path_ + " ends too early");
      out = out.subspan(static_cast<size_t>(got));
      offset += static_cast<uint64_t>(got);
    }
  }

  void Write(uint64_t offset, ByteView bytes) override {
    while (!bytes.empty()) {
      const ssize_t put =
          ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) Fail("write");
      bytes = bytes.subspan(static_cast<size_t>(put));
      offset += static_cast<uint64_t>(put);
    }
  }

  void Sync() override {
    if (::fsync(descriptor_) != 0) Fail("write");
  }

 private:
  [[noreturn]] void Fail(const char* what) const {
    throw Error(ErrorCode::kUsage,
                std::string("cannot ") + what + " " + path_ + ": " + std::strerror(errno),
                "check that the file is there, that you may read and write it and that the disk "
                "has room");
  }
  [[noreturn]] void FailAndClose(const char* what) const {
    const int reason = errno;
    ::close(descriptor_);
    errno = reason;
    Fail(what);
  }
  void SyncFolder() const {
    std::filesystem::path folder = std::filesystem::path(path_).parent_path();
    if (folder.empty()) folder = ".";
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
  }

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace

std::unique_ptr<StoreStorage> OpenStoreFile(const std::string& path, bool create) {
  return std::make_unique<StoreFile>(path, create);
}

}  // namespace partita::mpc
