// In how many rows a set that is asked for differs from one that was served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace partita::run {

// What sets of rows begin with of which nobody knows which match: no digest, and then one that stands
// for their matching.
inline constexpr uint64_t kHiddenSet = 1;
// Also in sets of all cells of such rows: these stand for keys of studies with a key column alone, since
// rows of different people have many cells in common.
inline constexpr uint64_t kCellsAsKeys = 2;

// Digests are sorted, each once; those of the served set come in order, in any pieces.
class BesideServed {
 public:
  // Borrows the set.
  explicit BesideServed(std::span<const uint64_t> asked) : asked_(asked) {}

  void Add(std::span<const uint64_t> served) {
    for (const uint64_t digest : served) {
      for (; at_ < asked_.size() && asked_[at_] < digest; ++at_) ++apart_;
      if (at_ == asked_.size() || asked_[at_] != digest) {
        ++apart_;
        continue;
      }
      common_ = common_ || digest > kCellsAsKeys;
      ++at_;
    }
  }

  // Rows that are in one of the two but not in both, of what was added.
  uint64_t Count() const { return apart_ + (asked_.size() - at_); }
  bool HaveCommon() const { return common_; }

 private:
  std::span<const uint64_t> asked_;
  size_t at_ = 0;  // of `asked`: those before it are counted
  uint64_t apart_ = 0;
  bool common_ = false;
};

// Rows that are in one of two sets but not in both.
inline uint64_t RowsApart(std::span<const uint64_t> a, std::span<const uint64_t> b) {
  BesideServed beside(a);
  beside.Add(b);
  return beside.Count();
}

}  // namespace partita::run
