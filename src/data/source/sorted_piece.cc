#include "data/source/sorted_piece.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace partita::data {
namespace {

[[noreturn]] void FailToKeep(const std::string& folder) {
  throw Error(ErrorCode::kStorage,
              "cannot keep a part of the table in " + folder + ": " + std::strerror(errno),
              "make room: sorting takes as much as the rows, beside the file that is written");
}

// Gone when it is closed, even by the kernel.
int OpenUnnamed(const std::string& folder) {
  const int unnamed = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (unnamed >= 0) return unnamed;
  // Not every file system has files without a name.
  std::string name = folder + "/partita-rows-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) {
    throw Error(ErrorCode::kUsage, "cannot write to " + folder + ": " + std::strerror(errno),
                "check that the folder exists and that you may write to it");
  }
  ::unlink(name.c_str());
  return named;
}

}  // namespace

SortedPiece::SortedPiece(const std::filesystem::path& folder, const LineSorter& lines)
    : folder_(folder.empty() ? "." : folder.string()), left_(lines.size()) {
  const int descriptor = OpenUnnamed(folder_);
  file_.reset(::fdopen(descriptor, "w+b"));
  if (file_ == nullptr) {
    ::close(descriptor);
    FailToKeep(folder_);
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    const auto size = static_cast<uint32_t>(line.size());
    if (std::fwrite(&size, sizeof size, 1, file_.get()) != 1 ||
        std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size())
      FailToKeep(folder_);
  }
  if (std::fflush(file_.get()) != 0 || std::fseek(file_.get(), 0, SEEK_SET) != 0)
    FailToKeep(folder_);
}

bool SortedPiece::Next() {
  if (left_ == 0) return false;
  --left_;
  uint32_t size = 0;
  if (std::fread(&size, sizeof size, 1, file_.get()) != 1) FailToKeep(folder_);
  line_.resize(size);
  if (std::fread(line_.data(), 1, size, file_.get()) != size) FailToKeep(folder_);
  return true;
}

}  // namespace partita::data
