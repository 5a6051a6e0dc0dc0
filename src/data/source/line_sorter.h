// Lines in one piece of memory, sorted by their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace partita::data {

class LineSorter {
 public:
  // A line of CSV: commas and LF.
  void Add(const std::vector<std::string>& fields);
  void Sort();
  void Clear();

  size_t size() const { return lines_.size(); }
  size_t memory() const { return text_.size() + lines_.size() * sizeof(Line); }
  std::string_view operator[](size_t line) const {
    return std::string_view(text_).substr(lines_[line].begin, lines_[line].size);
  }

 private:
  struct Line {
    uint64_t
        start;  // the first eight bytes, the first of them the highest; zeros behind a shorter line
    uint64_t begin;
    uint64_t size;
  };
  std::string text_;
  std::vector<Line> lines_;
};

}  // namespace partita::data
