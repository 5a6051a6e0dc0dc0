// A folder of files of a test, and what a table in it reads as.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "data/source/open_table.h"

namespace partita::data::testing {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "partita_source.XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

// In pieces of `block` bytes.
inline std::string AllOf(const OpenedTable& table, size_t block = 7) {
  std::string text;
  Bytes bytes(block);
  size_t count = 0;
  do {
    count = table.bytes(bytes);
    text.append(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
  } while (count == block);
  return text;
}

}  // namespace partita::data::testing
