#include "mpc/window_kernels.h"

#include <algorithm>
#include <array>

#include "mpc/window_carries.h"

namespace partita::mpc {
namespace {

// Bits [first, first + size): a block and, unless it is the last, the bit above it.
struct Window {
  size_t first = 0, size = 0;
  size_t values() const { return size_t{1} << size; }
};

std::vector<Window> WindowsOf(size_t width) {
  std::vector<Window> windows;
  for (size_t first = 0; first + 1 < width; first += kCarryBlock)
    windows.push_back({first, std::min(kCarryBlock + 1, width - first)});
  return windows;
}

using BitsOfWindow = std::array<uint64_t, kCarryBlock + 1>;

// What the addends c and r make of each other where r has the value of the window, entry by entry.
class Addends {
 public:
  Addends(const BitsOfWindow& c, const Window& window, size_t value) : window_(window) {
    for (size_t t = 0; t < window.size; ++t) {
      const bool set = (value >> t & 1) != 0;  // a number of a table, public
      p_[t] = set ? ~c[t] : c[t];
      g_[t] = set ? c[t] : 0;
    }
  }

  // Adds what holds at the entries of `where` to word i of the planes.
  void AddTo(WindowShares& shares, size_t words, size_t i, uint64_t where, size_t width) const {
    const auto at = [&](std::vector<uint64_t>& planes, size_t t) -> uint64_t& {
      return planes[(window_.first + t) * words + i];
    };
    const size_t block = std::min(window_.size, kCarryBlock);
    const size_t carries = std::min(block, width - 1 - window_.first);
    uint64_t generate = 0, propagate = ~uint64_t{0}, ones = propagate, agree = propagate;
    for (size_t t = 0; t < carries; ++t) {
      generate = g_[t] ^ (p_[t] & generate);
      propagate &= p_[t];
      at(shares.block_generate, t) ^= generate & where;
      at(shares.block_propagate, t) ^= propagate & where;
    }
    for (size_t t = block; t-- > 0;) {
      ones &= p_[t];
      at(shares.propagate, t) ^= p_[t] & where;
      at(shares.block_ones, t) ^= ones & where;
    }
    for (size_t t = carries; t-- > 0;) {
      agree &= ~(p_[t + 1] ^ p_[t] ^ g_[t]);
      at(shares.block_agree, t) ^= agree & where;
    }
    // The top bit may be a block by itself, without a window.
    if (window_.first + kCarryBlock + 1 != width) return;
    at(shares.propagate, kCarryBlock) ^= p_[kCarryBlock] & where;
    at(shares.block_ones, kCarryBlock) ^= p_[kCarryBlock] & where;
  }

 private:
  const Window& window_;
  BitsOfWindow p_{}, g_{};
};

BitsOfWindow BitsAt(ConstBitWords planes, const Window& window, size_t words, size_t i) {
  BitsOfWindow bits{};
  for (size_t t = 0; t < window.size; ++t) bits[t] = planes[(window.first + t) * words + i];
  return bits;
}

}  // namespace

size_t WindowPlanes(size_t width) {
  size_t planes = 0;
  for (const Window& window : WindowsOf(width)) planes += window.values() - 1;
  return planes;
}

std::vector<uint64_t> TablesOf(ConstBitWords planes, size_t width, size_t words) {
  std::vector<uint64_t> tables;
  tables.reserve(WindowPlanes(width) * words);
  for (const Window& window : WindowsOf(width)) {
    for (size_t value = 1; value < window.values(); ++value) {
      for (size_t i = 0; i < words; ++i) {
        const BitsOfWindow bits = BitsAt(planes, window, words, i);
        uint64_t same = ~uint64_t{0};
        for (size_t t = 0; t < window.size; ++t)
          same &= (value >> t & 1) != 0 ? bits[t] : ~bits[t];  // by the table's number, public
        tables.push_back(same);
      }
    }
  }
  return tables;
}

WindowShares LookUp(ConstBitWords c, ConstBitWords tables, size_t width, size_t words,
                    bool carries_public) {
  const auto planes = [&](size_t count) { return std::vector<uint64_t>(count * words); };
  WindowShares shares{planes(width), planes(width - 1), planes(width - 1), planes(width),
                      planes(width - 1)};
  size_t first = 0;
  for (const Window& window : WindowsOf(width)) {
    for (size_t i = 0; i < words; ++i) {
      const BitsOfWindow bits = BitsAt(c, window, words, i);
      uint64_t zero = carries_public ? ~uint64_t{0} : 0;  // where none of the other values is
      for (size_t value = 1; value < window.values(); ++value) {
        const uint64_t where = tables[(first + value - 1) * words + i];
        zero ^= where;
        Addends(bits, window, value).AddTo(shares, words, i, where, width);
      }
      Addends(bits, window, 0).AddTo(shares, words, i, zero, width);
    }
    first += window.values() - 1;
  }
  return shares;
}

}  // namespace partita::mpc
