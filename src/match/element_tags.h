// Whether elements of a group repeat, at 16 bytes each in place of all their bytes.
//
// A tag is the first 16 bytes of an encoding. Equal elements have equal tags, so a repetition is found
// in any case. Different ones meet by chance with probability below (number)^2 2^-128: below 2^-74 for
// the lists of a matching of 10^7 rows. A peer that makes tags meet on purpose stops its own run.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace partita::match {

class ElementTags {
 public:
  void Reserve(size_t elements) { tags_.reserve(elements); }
  template <size_t kBytes>
  void Add(const std::array<uint8_t, kBytes>& element) {
    Tag& tag = tags_.emplace_back();
    std::memcpy(tag.data(), element.data(), std::min(sizeof(tag), kBytes));
    sorted_ = false;
  }
  template <size_t kBytes>
  void Add(const std::vector<std::array<uint8_t, kBytes>>& elements) {
    for (const auto& element : elements) Add(element);
  }
  void Add(const ElementTags& others) {
    tags_.insert(tags_.end(), others.tags_.begin(), others.tags_.end());
    sorted_ = false;
  }
  bool Repeats() {
    Sort();
    return std::adjacent_find(tags_.begin(), tags_.end()) != tags_.end();
  }
  bool Meets(ElementTags& others) {
    Sort();
    others.Sort();
    for (size_t i = 0, j = 0; i < tags_.size() && j < others.tags_.size();) {
      if (tags_[i] == others.tags_[j]) return true;
      (tags_[i] < others.tags_[j] ? i : j) += 1;
    }
    return false;
  }
  size_t size() const { return tags_.size(); }
  // Gives the memory back.
  void Forget() { std::vector<Tag>().swap(tags_); }

 private:
  using Tag = std::array<uint64_t, 2>;
  void Sort() {
    if (!sorted_) std::sort(tags_.begin(), tags_.end());
    sorted_ = true;
  }

  std::vector<Tag> tags_;
  bool sorted_ = false;
};

}  // namespace partita::match
