#include "data/key_order.h"

#include <algorithm>
#include <vector>

namespace partita::data {

namespace {

// The first eight bytes decide most comparisons without touching the strings.
struct Entry {
  uint64_t prefix;
  uint32_t row;
};

// Big-endian, so that integers compare as bytes do; a short key is filled up with zeros.
uint64_t Prefix(const std::string& key) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 8; ++i) {
    prefix = prefix << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0U);
  }
  return prefix;
}

}  // namespace

void SortRowsByKey(std::span<uint32_t> rows, std::span<const std::string> keys) {
  std::vector<Entry> entries;
  entries.reserve(rows.size());
  for (uint32_t row : rows) entries.push_back({Prefix(keys[row]), row});
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    int order = keys[a.row].compare(keys[b.row]);
    return order != 0 ? order < 0 : a.row < b.row;
  });
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = entries[i].row;
}

}  // namespace partita::data
