#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/file_in_pieces.h"
#include "base/public_file.h"

namespace partita {
namespace {

[[noreturn]] void FailToWrite(const std::string& path, int error) {
  const std::string message = "cannot write " + path + ": " + std::strerror(error);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO) {
    throw Error(ErrorCode::kStorage, message, "make room, or name a place on another disk");
  }
  throw Error(ErrorCode::kUsage, message,
              "check that the folder exists, that you may write to it and that the disk has room");
}

void WriteAll(int descriptor, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) FailToWrite(path, errno);
    content.remove_prefix(static_cast<size_t>(written));
  }
}

std::string SizeText(uint64_t bytes) {
  constexpr uint64_t kMebibyte = uint64_t{1} << 20;
  return bytes % kMebibyte == 0 ? std::to_string(bytes / kMebibyte) + " MiB"
                                : std::to_string(bytes) + " bytes";
}

// A temporary file that is removed unless it was renamed to its final name.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path) : target_(path), name_(path + ".XXXXXX") {
    descriptor_ = ::mkstemp(name_.data());  // mode 0600
    if (descriptor_ < 0) Fail();
    ::fcntl(descriptor_, F_SETFD, FD_CLOEXEC);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!renamed_) ::unlink(name_.c_str());
  }

  void Add(std::string_view content) { WriteAll(descriptor_, content, target_); }
  void Sync() {
    if (::fsync(descriptor_) != 0) Fail();
  }
  void Write(std::string_view content) {
    Add(content);
    Sync();
  }

  // For others than its owner.
  void SetMode(mode_t mode) {
    if (::fchmod(descriptor_, mode) != 0) Fail();
  }

  void Rename() {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    if (::close(descriptor) != 0) Fail();
    if (::rename(name_.c_str(), target_.c_str()) != 0) Fail();
    renamed_ = true;
  }

 private:
  // The destructor does not run if the constructor throws, but then there is no file.
  [[noreturn]] void Fail() { FailToWrite(target_, errno); }

  std::string target_, name_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

// Makes the new name survive a crash. Not every file system can do it: then it is as safe as it
// gets.
void SyncFolder(const std::string& path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

[[noreturn]] void FailAsTooLarge(const std::string& name, uint64_t max_bytes) {
  throw Error(ErrorCode::kBadInput, name + " is larger than " + SizeText(max_bytes),
              "check the path: that is hardly the file");
}

}  // namespace

std::string ReadFile(const std::filesystem::path& path, uint64_t max_bytes, std::string_view what,
                     const std::string& hint) {
  const std::string name = std::string(what) + " " + path.string();
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char buffer[1 << 16];
  while (text.size() <= max_bytes && (file.read(buffer, sizeof buffer), file.gcount() > 0))
    text.append(buffer, static_cast<size_t>(file.gcount()));
  // A folder opens but cannot be read: then the stream is bad, or nothing came and it is no end.
  if (!file.is_open() || file.bad() || (text.empty() && !file.eof())) {
    throw Error(ErrorCode::kBadInput, "cannot read " + name, hint);
  }
  if (text.size() > max_bytes) FailAsTooLarge(name, max_bytes);
  return text;
}

SecretBytes ReadSecretFile(const std::filesystem::path& path, uint64_t max_bytes,
                           std::string_view what) {
  const std::string name = std::string(what) + " " + path.string();
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  const bool ordinary =
      descriptor >= 0 && ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  const uint64_t size = ordinary ? static_cast<uint64_t>(status.st_size) : 0;
  SecretBytes secret(size <= max_bytes ? size : 0);
  std::span<uint8_t> rest = secret.Expose();
  while (!rest.empty()) {
    const ssize_t count = ::read(descriptor, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    rest = rest.subspan(static_cast<size_t>(count));
  }
  if (descriptor >= 0) ::close(descriptor);
  if (!ordinary || !rest.empty()) {
    throw Error(ErrorCode::kBadInput, "cannot read " + name,
                "check the path and that you may read it");
  }
  if (size > max_bytes) FailAsTooLarge(name, max_bytes);
  return secret;
}

void WriteNewFile(const std::filesystem::path& path, std::string_view content, mode_t mode,
                  std::string_view what, const std::string& if_it_exists) {
  const std::string name = std::string(what) + " " + path.string();
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor < 0 && errno == EEXIST) {
    throw Error(ErrorCode::kUsage, "cannot write " + name + ": it exists", if_it_exists);
  }
  if (descriptor < 0) FailToWrite(name, errno);
  try {
    WriteAll(descriptor, content, name);
    if (::fsync(descriptor) != 0) FailToWrite(name, errno);
  } catch (const Error&) {
    ::close(descriptor);
    ::unlink(path.c_str());
    throw;
  }
  ::close(descriptor);
}

void WriteFileAtomically(const std::string& path, std::string_view content) {
  TemporaryFile file(path);
  file.Write(content);
  file.Rename();
  SyncFolder(path);
}

void WriteInPiecesAtomically(const std::string& path,
                             const std::function<void(const PieceWriter& write)>& fill) {
  TemporaryFile file(path);
  fill([&file](std::string_view piece) { file.Add(piece); });
  file.Sync();
  file.Rename();
  SyncFolder(path);
}

void WritePublicFile(const std::string& path, std::string_view content, mode_t mode) {
  TemporaryFile file(path);
  file.Write(content);
  file.SetMode(mode);
  file.Rename();
  SyncFolder(path);
}

void AppendDurably(const std::string& path, std::string_view content) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0) FailToWrite(path, errno);
  try {
    WriteAll(descriptor, content, path);
    if (::fdatasync(descriptor) != 0) FailToWrite(path, errno);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  if (::close(descriptor) != 0) FailToWrite(path, errno);
}

RoomOnDisk::RoomOnDisk(const std::string& path, uint64_t bytes) : name_(path + ".XXXXXX") {
  descriptor_ = ::mkstemp(name_.data());
  if (descriptor_ < 0) FailToWrite(path, errno);
  // Without a name it goes with this process, however that ends.
  ::unlink(name_.c_str());
  ::fcntl(descriptor_, F_SETFD, FD_CLOEXEC);
  const int error = ::posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
  if (error == 0) return;
  ::close(descriptor_);
  FailToWrite(path, error);
}

RoomOnDisk::~RoomOnDisk() { ::close(descriptor_); }

}  // namespace partita
