#include "mpc/bit_kernels.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "mpc/prime_field.h"

namespace partita::mpc {
namespace {

using BitBlock = std::array<uint64_t, 64>;

// Transposes a 64 x 64 matrix of bits: quadrants of 32, 16, ..., 1 are swapped (Warren, Hacker's
// Delight, 7-3), here with bit 0 as the first column.
void Transpose(BitBlock& rows) {
  uint64_t mask = 0x00000000FFFFFFFF;
  for (size_t half = 32; half != 0; half /= 2, mask ^= mask << half) {
    for (size_t i = 0; i < 64; i = (i + half + 1) & ~half) {
      const uint64_t swapped = ((rows[i] >> half) ^ rows[i + half]) & mask;
      rows[i] ^= swapped << half;
      rows[i + half] ^= swapped;
    }
  }
}

template <typename R>
typename R::Word LowMask(size_t width) {
  return width >= static_cast<size_t>(R::kBits) ? R::Reduce(~UInt128{0})
                                                : R::Reduce((UInt128{1} << width) - 1);
}

}  // namespace

template <typename R>
std::vector<uint64_t> ToPlanes(ConstWords<R> values, size_t width) {
  const size_t per_plane = (values.size() + 63) / 64;
  std::vector<uint64_t> planes(width * per_plane);
  BitBlock block;
  for (size_t word = 0; word < per_plane; ++word) {
    const size_t count = std::min<size_t>(64, values.size() - 64 * word);
    for (size_t low = 0; low < width; low += 64) {
      block.fill(0);
      for (size_t i = 0; i < count; ++i) {
        block[i] = static_cast<uint64_t>(static_cast<UInt128>(values[64 * word + i]) >> low);
      }
      Transpose(block);
      for (size_t j = low; j < std::min(width, low + 64); ++j) {
        planes[j * per_plane + word] = block[j - low];
      }
    }
  }
  return planes;
}

template <typename R>
std::vector<typename R::Word> FromPlanes(ConstBitWords planes, size_t size, size_t width) {
  const size_t per_plane = (size + 63) / 64;
  std::vector<typename R::Word> values(size * width);
  for (size_t plane = 0; plane < width; ++plane) {
    for (size_t i = 0; i < size; ++i) {
      values[plane * size + i] =
          static_cast<typename R::Word>(planes[plane * per_plane + i / 64] >> (i % 64) & 1);
    }
  }
  return values;
}

// Whole words are written and read as long as they lie inside the message: the bytes behind one
// value belong to the next.
template <typename R>
std::vector<uint8_t> PackLow(ConstWords<R> values, size_t width) {
  using Word = typename R::Word;
  const size_t each = PackedBytes(width);
  std::vector<uint8_t> bytes(values.size() * each);
  const auto mask = LowMask<R>(width);
  uint8_t* out = bytes.data();
  size_t i = 0;
  for (; i * each + sizeof(Word) <= bytes.size(); ++i) {
    const auto value = static_cast<Word>(values[i] & mask);
    std::memcpy(out + i * each, &value, sizeof(Word));
  }
  for (; i < values.size(); ++i) {
    const auto value = static_cast<Word>(values[i] & mask);
    std::memcpy(out + i * each, &value, each);
  }
  return bytes;
}

template <typename R>
std::vector<typename R::Word> UnpackLow(std::span<const uint8_t> bytes, size_t width) {
  using Word = typename R::Word;
  const size_t each = PackedBytes(width);
  std::vector<Word> values(bytes.size() / each);
  const auto mask = LowMask<R>(width);
  size_t i = 0;
  for (; i * each + sizeof(Word) <= bytes.size(); ++i) {
    Word value = 0;
    std::memcpy(&value, bytes.data() + i * each, sizeof(Word));
    values[i] = static_cast<Word>(value & mask);
  }
  for (; i < values.size(); ++i) {
    Word value = 0;
    std::memcpy(&value, bytes.data() + i * each, each);
    values[i] = static_cast<Word>(value & mask);
  }
  return values;
}

#define PARTITA_INSTANTIATE(R)                                                \
  template std::vector<uint64_t> ToPlanes<R>(ConstWords<R>, size_t);          \
  template std::vector<R::Word> FromPlanes<R>(ConstBitWords, size_t, size_t); \
  template std::vector<uint8_t> PackLow<R>(ConstWords<R>, size_t);            \
  template std::vector<R::Word> UnpackLow<R>(std::span<const uint8_t>, size_t);
PARTITA_INSTANTIATE(Ring128)
PARTITA_INSTANTIATE(Ring64)
PARTITA_INSTANTIATE(Ring16)
PARTITA_INSTANTIATE(Ring8)
PARTITA_INSTANTIATE(Ring4)
#undef PARTITA_INSTANTIATE

#define PARTITA_INSTANTIATE(F) \
  template std::vector<F::Word> FromPlanes<F>(ConstBitWords, size_t, size_t);
PARTITA_INSTANTIATE(Field127)
PARTITA_INSTANTIATE(Field5)
PARTITA_INSTANTIATE(Field7)
PARTITA_INSTANTIATE(FieldOf5Bits)
PARTITA_INSTANTIATE(FieldOf7Bits)
#undef PARTITA_INSTANTIATE

}  // namespace partita::mpc
