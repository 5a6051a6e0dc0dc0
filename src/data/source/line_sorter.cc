#include "data/source/line_sorter.h"

#include <algorithm>

#include "data/csv_writer.h"

namespace partita::data {

void LineSorter::Add(const std::vector<std::string>& fields) {
  const size_t begin = text_.size();
  AppendRecord(text_, fields, ',');
  Line line{0, begin, text_.size() - begin};
  for (size_t i = 0; i < sizeof line.start; ++i)
    line.start = line.start << 8 | (i < line.size ? static_cast<uint8_t>(text_[begin + i]) : 0);
  lines_.push_back(line);
}

void LineSorter::Sort() {
  const std::string_view text = text_;
  std::sort(lines_.begin(), lines_.end(), [text](const Line& a, const Line& b) {
    if (a.start != b.start) return a.start < b.start;
    return text.substr(a.begin, a.size) < text.substr(b.begin, b.size);
  });
}

void LineSorter::Clear() {
  text_.clear();
  lines_.clear();
}

}  // namespace partita::data
