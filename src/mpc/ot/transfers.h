// The arithmetic of correlated transfers: from rows (extension.h) to shares of products. Local;
// both functions walk through groups in the same order.
//
// Timing  constant in rows, the difference, choices and messages; not in numbers of groups, entries
//         and widths (public). Proved by tests/ctime.
#pragma once

#include <cassert>
#include <cstring>
#include <vector>

#include "mpc/ot/tasks.h"

namespace partita::mpc::ot {

// Room that buffers need behind their last entry, because entries are moved 16 bytes at a time.
inline constexpr size_t kSlackBytes = sizeof(crypto::Block);

inline crypto::Block LoadEntry(const uint8_t* from) {
  crypto::Block value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
inline void StoreEntry(uint8_t* to, crypto::Block value) { std::memcpy(to, &value, sizeof(value)); }

// Pads of consecutive groups of one task.
class Pads {
 public:
  // rows ^ difference are hashed; transfer i of `rows` has index first_index + i, and its pad
  // begins with block `first_block` of its hash. rows.size() is a multiple of task.transfers.
  void Make(crypto::BlockPermutation& permutation, std::span<const crypto::Block> rows,
            crypto::Block difference, uint64_t first_index, uint64_t first_block,
            const OtTask& task);
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(pads_.data()); }

 private:
  std::vector<crypto::Block> inputs_, pads_;
};

// Blocks of a transfer's pad.
constexpr size_t PadBlocks(size_t entries, size_t width) {
  return (entries * width + sizeof(crypto::Block) - 1) / sizeof(crypto::Block);
}

// Bits, one after the other.
class BitAppender {
 public:
  // The lowest `count` bits, at most 128.
  void Append(crypto::Block bits, size_t count) {
    while (count > 0) {
      const size_t at = size_ % 64, taken = std::min(count, 64 - at);
      if (at == 0) words_.push_back(0);
      uint64_t part = static_cast<uint64_t>(bits);
      if (taken < 64) part &= (uint64_t{1} << taken) - 1;
      words_.back() |= part << at;
      bits >>= taken;
      count -= taken;
      size_ += taken;
    }
  }
  size_t size() const { return size_; }
  // Zeros up to `size` bits.
  void PadTo(size_t size) {
    words_.resize((size + 63) / 64);
    size_ = size;
  }
  const std::vector<uint64_t>& words() const { return words_; }

 private:
  std::vector<uint64_t> words_;
  size_t size_ = 0;
};

inline bool BitAt(std::span<const uint64_t> words, size_t i) {
  return (words[i / 64] >> (i % 64) & 1) != 0;
}

// What both ends of a piece have in common.
struct Transfers {
  const OtTask& task;
  crypto::BlockPermutation& permutation;
  std::span<const crypto::Block> rows;  // num_groups * task.transfers
  uint64_t first_index = 0;
  uint64_t first_block = 0;  // of the pads
};

// Groups whose pads are made together.
constexpr size_t GroupsAtOnce(const OtTask& task) {
  return std::max<size_t>(1, 1024 / (task.transfers * task.entries));
}

// For every group, transfer j and entry c, in this order, with state = begin_group(group): writes
// message(state, j, c), masked, to `payload` (with kSlackBytes behind it) and calls
// share(state, j, c, s), where s is the sender's term, right in the lowest 8 task.widths[j] bits.
template <typename Begin, typename Message, typename Share>
void SendProducts(const Transfers& t, crypto::Block difference, uint8_t* payload,
                  const Begin& begin_group, const Message& message, const Share& share) {
  const size_t transfers = t.task.transfers, groups = t.rows.size() / transfers;
  Pads zero, one;
  for (size_t begin = 0; begin < groups; begin += GroupsAtOnce(t.task)) {
    const size_t end = std::min(groups, begin + GroupsAtOnce(t.task));
    const auto rows = t.rows.subspan(begin * transfers, (end - begin) * transfers);
    const uint64_t index = t.first_index + begin * transfers;
    zero.Make(t.permutation, rows, 0, index, t.first_block, t.task);
    one.Make(t.permutation, rows, difference, index, t.first_block, t.task);
    const uint8_t *pad0 = zero.bytes(), *pad1 = one.bytes();
    for (size_t g = begin; g < end; ++g) {
      const auto state = begin_group(g);
      for (size_t j = 0; j < transfers; ++j) {
        const size_t width = t.task.widths[j];
        for (size_t c = 0; c < t.task.entries; ++c) {
          const crypto::Block h0 = LoadEntry(pad0 + c * width), h1 = LoadEntry(pad1 + c * width);
          StoreEntry(payload, h0 + message(state, j, c) - h1);
          payload += width;
          share(state, j, c, -h0);
        }
        const size_t blocks = PadBlocks(t.task.entries, width);
        pad0 += blocks * sizeof(crypto::Block);
        pad1 += blocks * sizeof(crypto::Block);
      }
    }
  }
}

// choices: from bit `first_choice` on, one for every row. `payload` has kSlackBytes behind it.
template <typename Begin, typename Share>
void ReceiveProducts(const Transfers& t, std::span<const uint64_t> choices, size_t first_choice,
                     const uint8_t* payload, const Begin& begin_group, const Share& share) {
  const size_t transfers = t.task.transfers, groups = t.rows.size() / transfers;
  Pads pads;
  for (size_t begin = 0; begin < groups; begin += GroupsAtOnce(t.task)) {
    const size_t end = std::min(groups, begin + GroupsAtOnce(t.task));
    pads.Make(t.permutation, t.rows.subspan(begin * transfers, (end - begin) * transfers), 0,
              t.first_index + begin * transfers, t.first_block, t.task);
    const uint8_t* pad = pads.bytes();
    for (size_t g = begin; g < end; ++g) {
      const auto state = begin_group(g);
      for (size_t j = 0; j < transfers; ++j) {
        const size_t width = t.task.widths[j];
        const auto chosen =
            -static_cast<crypto::Block>(BitAt(choices, first_choice + g * transfers + j) ? 1 : 0);
        for (size_t c = 0; c < t.task.entries; ++c) {
          share(state, j, c, LoadEntry(pad + c * width) + (LoadEntry(payload) & chosen));
          payload += width;
        }
        pad += PadBlocks(t.task.entries, width) * sizeof(crypto::Block);
      }
    }
  }
}

// Transfers of one bit each: message(i) is a bit, share(i, s) gets one; payload bit i is bit i % 8
// of its byte i / 8, zero at first.
template <typename Message, typename Share>
void SendBits(const Transfers& t, crypto::Block difference, uint8_t* payload,
              const Message& message, const Share& share) {
  constexpr size_t kAtOnce = 1024;
  Pads zero, one;
  for (size_t begin = 0; begin < t.rows.size(); begin += kAtOnce) {
    const auto rows = t.rows.subspan(begin, std::min(kAtOnce, t.rows.size() - begin));
    zero.Make(t.permutation, rows, 0, t.first_index + begin, t.first_block, t.task);
    one.Make(t.permutation, rows, difference, t.first_index + begin, t.first_block, t.task);
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto h0 = static_cast<uint8_t>(zero.bytes()[i * sizeof(crypto::Block)] & 1);
      const auto h1 = static_cast<uint8_t>(one.bytes()[i * sizeof(crypto::Block)] & 1);
      const auto masked = static_cast<uint8_t>(h0 ^ h1 ^ message(begin + i));
      payload[(begin + i) / 8] |= static_cast<uint8_t>(masked << ((begin + i) % 8));
      share(begin + i, h0);
    }
  }
}

template <typename Share>
void ReceiveBits(const Transfers& t, std::span<const uint64_t> choices, size_t first_choice,
                 const uint8_t* payload, const Share& share) {
  constexpr size_t kAtOnce = 1024;
  Pads pads;
  for (size_t begin = 0; begin < t.rows.size(); begin += kAtOnce) {
    const auto rows = t.rows.subspan(begin, std::min(kAtOnce, t.rows.size() - begin));
    pads.Make(t.permutation, rows, 0, t.first_index + begin, t.first_block, t.task);
    for (size_t i = begin; i < begin + rows.size(); ++i) {
      const auto pad = static_cast<uint8_t>(pads.bytes()[(i - begin) * sizeof(crypto::Block)] & 1);
      const auto masked = static_cast<uint8_t>(payload[i / 8] >> (i % 8) & 1);
      const auto choice = static_cast<uint8_t>(BitAt(choices, first_choice + i));
      share(i, static_cast<uint8_t>(pad ^ (masked & choice)));
    }
  }
}

}  // namespace partita::mpc::ot
