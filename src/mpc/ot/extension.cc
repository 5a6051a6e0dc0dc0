#include "mpc/ot/extension.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "crypto/kdf.h"
#include "mpc/ot/bit_transpose.h"

namespace partita::mpc::ot {
namespace {

using crypto::Block;
using crypto::Key;

static_assert(kColumns == kBaseTransfers);

constexpr size_t kKeyBytes = 32;
// Transfers that are handled at once: streams and columns stay in the caches.
constexpr size_t kSlice = 8192;
constexpr size_t kSliceBytes = kSlice / 8;

Key Child(const Key& node, uint8_t side) {
  return crypto::DeriveKey(node, "partita ot tree", {{&side, 1}});
}

void XorKey(Key& key, ByteView bytes) {
  for (size_t i = 0; i < kKeyBytes; ++i) key.Expose()[i] ^= bytes[i];
}
void XorKey(Key& key, const Key& other) { XorKey(key, other.Expose()); }
// If bit is 1, else nothing: either takes the same time.
void XorKeyIf(int bit, Key& key, ByteView bytes) {
  const auto mask = static_cast<uint8_t>(-bit);
  for (size_t i = 0; i < kKeyBytes; ++i) key.Expose()[i] ^= static_cast<uint8_t>(bytes[i] & mask);
}

bool BitOf(Block block, size_t bit) { return (block >> bit & 1) != 0; }

// The level of a tree that decides bit b of a leaf's number: the root's children differ in the top
// bit.
constexpr size_t BitOfLevel(size_t level) { return kChunkBits - 1 - level; }

using Lanes = uint64_t __attribute__((vector_size(16)));

Lanes Load(const uint8_t* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

// out ^= in & mask, for a multiple of 16 bytes.
void XorMasked(uint8_t* out, const uint8_t* in, size_t size, Lanes mask) {
  for (size_t i = 0; i < size; i += sizeof(Lanes)) {
    const Lanes sum = Load(out + i) ^ (Load(in + i) & mask);
    std::memcpy(out + i, &sum, sizeof(sum));
  }
}

void XorBytes(uint8_t* out, const uint8_t* in, size_t size) { XorMasked(out, in, size, ~Lanes{}); }

// The streams of one chunk, by slot; afterwards the first is the exclusive or of all. Columns b get
// that of the slots whose number has bit b.
class Folder {
 public:
  Folder() : slots_(kLeaves * kSliceBytes), columns_(kColumns * kSliceBytes) {}
  ~Folder() {
    Wipe(slots_.data(), slots_.size());
    Wipe(columns_.data(), columns_.size());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::span<uint8_t> slot(size_t x, size_t bytes) {
    return {slots_.data() + x * kSliceBytes, bytes};
  }
  uint8_t* column(size_t m) { return columns_.data() + m * kSliceBytes; }

  void Fold(size_t chunk, size_t bytes) {
    for (size_t b = kChunkBits; b-- > 0;) {
      const size_t half = size_t{1} << b;
      uint8_t* out = column(chunk * kChunkBits + b);
      std::memcpy(out, slot(half, bytes).data(), bytes);
      for (size_t x = half + 1; x < 2 * half; ++x) XorBytes(out, slot(x, bytes).data(), bytes);
      for (size_t x = 0; x < half; ++x) {
        XorBytes(slot(x, bytes).data(), slot(x + half, bytes).data(), bytes);
      }
    }
  }
  void Rows(std::span<Block> rows) { RowsOfColumns(columns_.data(), kSliceBytes, rows); }

 private:
  std::vector<uint8_t> slots_, columns_;
};

}  // namespace

std::vector<bool> BaseChoices(Block difference) {
  std::vector<bool> choices(kBaseTransfers);
  for (size_t m = 0; m < kBaseTransfers; ++m) choices[m] = !BitOf(difference, m);
  return choices;
}

CotReceiver::CotReceiver(const std::vector<BaseOtKeys>& base, crypto::RandomSource& random)
    : setup_(kExtensionSetupBytes) {
  assert(base.size() == kBaseTransfers);
  streams_.reserve(kChunks * kLeaves);
  for (size_t chunk = 0; chunk < kChunks; ++chunk) {
    std::vector<Key> nodes = {crypto::RandomKey(random)};
    for (size_t level = 0; level < kChunkBits; ++level) {
      std::vector<Key> children;
      std::array<Key, 2> sums;
      for (const Key& node : nodes) {
        for (uint8_t side : {uint8_t{0}, uint8_t{1}}) {
          children.push_back(Child(node, side));
          XorKey(sums[side], children.back());
        }
      }
      nodes = std::move(children);
      const size_t m = chunk * kChunkBits + BitOfLevel(level);
      XorKey(sums[0], base[m].zero);
      XorKey(sums[1], base[m].one);
      for (size_t side = 0; side < 2; ++side) {
        std::copy_n(sums[side].Expose().begin(), kKeyBytes,
                    setup_.begin() + static_cast<ptrdiff_t>((2 * m + side) * kKeyBytes));
      }
    }
    for (const Key& leaf : nodes) streams_.emplace_back(leaf);
  }
}

void CotReceiver::Extend(std::span<const uint64_t> choices, std::span<uint8_t> message,
                         std::span<Block> rows) {
  assert(rows.size() % kTransferUnit == 0 && choices.size() * 64 == rows.size());
  assert(message.size() == ExtensionBytes(rows.size()));
  const auto* choice_bytes = reinterpret_cast<const uint8_t*>(choices.data());
  const size_t column_bytes = rows.size() / 8;
  Folder folder;
  for (size_t first = 0; first < rows.size(); first += kSlice) {
    const size_t count = std::min(kSlice, rows.size() - first), bytes = count / 8;
    for (size_t chunk = 0; chunk < kChunks; ++chunk) {
      for (size_t x = 0; x < kLeaves; ++x) {
        streams_[chunk * kLeaves + x].Fill(folder.slot(x, bytes));
      }
      folder.Fold(chunk, bytes);
      uint8_t* out = message.data() + chunk * column_bytes + first / 8;
      std::memcpy(out, folder.slot(0, bytes).data(), bytes);
      XorBytes(out, choice_bytes + first / 8, bytes);
    }
    folder.Rows(rows.subspan(first, count));
  }
}

CotSender::CotSender(Block difference, const std::vector<Key>& base, ByteView setup)
    : difference_(difference), streams_(kChunks * kLeaves) {
  assert(base.size() == kBaseTransfers && setup.size() == kExtensionSetupBytes);
  for (size_t chunk = 0; chunk < kChunks; ++chunk) {
    // Nodes of a level by their number ^ that of the one on D's path: what is not known is always
    // number 0, whose key stays zero, and no address depends on D.
    std::vector<Key> nodes(1);
    for (size_t level = 0; level < kChunkBits; ++level) {
      const size_t m = chunk * kChunkBits + BitOfLevel(level);
      const auto bit = static_cast<uint8_t>(BitOf(difference, m));
      std::vector<Key> children(2 * nodes.size());
      // The sum of all children on the side beside the path, then less those that are known.
      Key missing = base[m];
      const ByteView sums = setup.subspan(2 * m * kKeyBytes, 2 * kKeyBytes);
      XorKeyIf(bit, missing, sums.first(kKeyBytes));
      XorKeyIf(bit ^ 1, missing, sums.last(kKeyBytes));
      for (size_t i = 1; i < nodes.size(); ++i) {
        for (uint8_t side : {uint8_t{0}, uint8_t{1}}) {
          children[2 * i + side] = Child(nodes[i], side ^ bit);
        }
        XorKey(missing, children[2 * i + 1]);
      }
      children[1] = missing;
      nodes = std::move(children);
    }
    for (size_t i = 1; i < kLeaves; ++i) {
      streams_[chunk * kLeaves + i] = std::make_unique<crypto::Prg>(nodes[i]);
    }
  }
}

void CotSender::Extend(ByteView message, std::span<Block> rows) {
  assert(rows.size() % kTransferUnit == 0);
  assert(message.size() == ExtensionBytes(rows.size()));
  const size_t column_bytes = rows.size() / 8;
  const Block difference = difference_.Expose();
  Folder folder;
  for (size_t first = 0; first < rows.size(); first += kSlice) {
    const size_t count = std::min(kSlice, rows.size() - first), bytes = count / 8;
    for (size_t chunk = 0; chunk < kChunks; ++chunk) {
      std::memset(folder.slot(0, bytes).data(), 0, bytes);
      for (size_t x = 1; x < kLeaves; ++x) {
        streams_[chunk * kLeaves + x]->Fill(folder.slot(x, bytes));
      }
      folder.Fold(chunk, bytes);
      const uint8_t* in = message.data() + chunk * column_bytes + first / 8;
      for (size_t b = 0; b < kChunkBits; ++b) {
        const size_t m = chunk * kChunkBits + b;
        const uint64_t all = -static_cast<uint64_t>(difference >> m & 1);
        XorMasked(folder.column(m), in, bytes, Lanes{all, all});
      }
    }
    folder.Rows(rows.subspan(first, count));
  }
}

}  // namespace partita::mpc::ot
