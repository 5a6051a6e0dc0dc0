// A folder that goes away with everything in it.
#pragma once

#include <filesystem>

namespace partita::run {

class TemporaryFolder {
 public:
  // Throws kUsage if it cannot be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace partita::run
