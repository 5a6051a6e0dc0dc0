#include "sums/protocol/masked_sum.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"

namespace partita::sums {
namespace {

static_assert(std::endian::native == std::endian::little, "a word's memory is its encoding");

// Of a sum, while all seeds of a batch are added to it.
constexpr size_t kBlockBytes = size_t{1} << 18;

template <typename Word>
Word Load(const uint8_t* from) {
  Word word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

// to[i] = combine(to[i], from[i]) for whole words. The build optimises this file for vector
// instructions.
template <typename Word, typename Combine>
void Words(uint8_t* to, const uint8_t* from, size_t size, const Combine& combine) {
  for (size_t i = 0; i < size; i += sizeof(Word)) {
    const Word word = combine(Load<Word>(to + i), Load<Word>(from + i));
    std::memcpy(to + i, &word, sizeof(word));
  }
}

template <typename Word>
void AddOrSubtract(uint8_t* to, const uint8_t* from, size_t size, bool subtract) {
  if (subtract) {
    Words<Word>(to, from, size, [](Word a, Word b) { return static_cast<Word>(a - b); });
  } else {
    Words<Word>(to, from, size, [](Word a, Word b) { return static_cast<Word>(a + b); });
  }
}

void AddOrSubtract(RingBits ring, uint8_t* to, const uint8_t* from, size_t size, bool subtract) {
  if (ring == RingBits::k64) {
    AddOrSubtract<uint64_t>(to, from, size, subtract);
  } else {
    AddOrSubtract<UInt128>(to, from, size, subtract);
  }
}

template <typename Word>
void AddSigned(std::span<const Int128> values, uint8_t* to) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto word =
        static_cast<Word>(Load<Word>(to + i * sizeof(Word)) + static_cast<Word>(values[i]));
    std::memcpy(to + i * sizeof(Word), &word, sizeof(word));
  }
}

void CheckLength(size_t actual, size_t expected) {
  if (actual != expected) throw Error(ErrorCode::kInternal, "a share has a wrong length");
}

}  // namespace

MaskedSum::MaskedSum(RingBits ring, size_t dimension)
    : ring_(ring), dimension_(dimension), bytes_(dimension * (static_cast<size_t>(ring) / 8)) {}

void MaskedSum::AddIntegers(std::span<const Int128> values) {
  CheckLength(values.size(), dimension_);
  if (ring_ == RingBits::k64) {
    AddSigned<uint64_t>(values, bytes_.data());
  } else {
    AddSigned<UInt128>(values, bytes_.data());
  }
}

void MaskedSum::AddWords(ByteView words) {
  CheckLength(words.size(), bytes_.size());
  AddOrSubtract(ring_, bytes_.data(), words.data(), words.size(), false);
}

void MaskedSum::Clear() { std::fill(bytes_.begin(), bytes_.end(), uint8_t{0}); }

std::vector<Int128> MaskedSum::Signed() const {
  std::vector<Int128> values(dimension_);
  for (size_t i = 0; i < dimension_; ++i) {
    if (ring_ == RingBits::k64) {
      values[i] = static_cast<int64_t>(Load<uint64_t>(bytes_.data() + 8 * i));
    } else {
      values[i] = static_cast<Int128>(Load<UInt128>(bytes_.data() + 16 * i));
    }
  }
  return values;
}

void MaskedSum::Apply(std::span<const crypto::Key> seeds, bool subtract) {
  alignas(64) std::array<uint8_t, crypto::KeyStream::kMaxBytes> chunk{};
  for (size_t block = 0; block < bytes_.size(); block += kBlockBytes) {
    const size_t end = std::min(bytes_.size(), block + kBlockBytes);
    for (const crypto::Key& seed : seeds) {
      stream_.Start(seed, block / 16);
      for (size_t at = block; at < end; at += chunk.size()) {
        const size_t size = std::min(chunk.size(), end - at);
        stream_.Next(std::span(chunk).first(size));
        AddOrSubtract(ring_, bytes_.data() + at, chunk.data(), size, subtract);
      }
    }
  }
  Wipe(chunk.data(), std::min(chunk.size(), bytes_.size()));
}

}  // namespace partita::sums
