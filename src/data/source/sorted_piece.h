// Sorted lines in a file without a name.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "data/source/line_sorter.h"

namespace partita::data {

class SortedPiece {
 public:
  // Writes the lines, of any bytes, in their order. Throws kStorage if there is no room in `folder`, kUsage if no
  // file can be made there.
  SortedPiece(const std::filesystem::path& folder, const LineSorter& lines);

  // Reads the next line; false at the end. Throws kStorage.
  bool Next();
  std::string_view line() const { return line_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string folder_;
  std::unique_ptr<std::FILE, Close> file_;
  size_t left_ = 0;  // lines
  std::string line_;
};

}  // namespace partita::data
