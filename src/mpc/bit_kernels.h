// Loops over planes of bits, and between ring elements and planes.
//
// Timing  constant in bits and elements; not in sizes and widths (public). Proved by tests/ctime.
#pragma once

#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include "mpc/kernels.h"
#include "mpc/ring.h"

namespace partita::mpc {

using BitWords = std::span<uint64_t>;
using ConstBitWords = std::span<const uint64_t>;

inline void XorInto(BitWords out, ConstBitWords a) {
  assert(a.size() == out.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] ^= a[i];
}

// out ^= a AND b.
inline void AndInto(BitWords out, ConstBitWords a, ConstBitWords b) {
  assert(a.size() == out.size() && b.size() == out.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] ^= a[i] & b[i];
}

inline std::span<uint8_t> BitBytes(BitWords words) {
  return {reinterpret_cast<uint8_t*>(words.data()), words.size_bytes()};
}
inline std::span<const uint8_t> BitBytes(ConstBitWords words) {
  return {reinterpret_cast<const uint8_t*>(words.data()), words.size_bytes()};
}

// The lowest `width` bits of every value as planes: bit j of value i becomes bit i % 64 of word
// j * ceil(n / 64) + i / 64. Bits beyond the last value are zero.
template <typename R>
std::vector<uint64_t> ToPlanes(ConstWords<R> values, size_t width);

// Every bit of `width` planes of `size` entries as an element 0 or 1, plane by plane.
template <typename R>
std::vector<typename R::Word> FromPlanes(ConstBitWords planes, size_t size, size_t width);

// Bytes of an element of `width` bits in a packed message.
constexpr size_t PackedBytes(size_t width) { return (width + 7) / 8; }
// The lowest PackedBytes(width) bytes of every value, one after the other; the bits of the last
// byte above `width` are cleared, so that a message tells nothing but the value modulo 2^width.
template <typename R>
std::vector<uint8_t> PackLow(ConstWords<R> values, size_t width);
// The values modulo 2^width that PackLow packed.
template <typename R>
std::vector<typename R::Word> UnpackLow(std::span<const uint8_t> bytes, size_t width);

}  // namespace partita::mpc
