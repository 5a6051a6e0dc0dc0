// The rings Z_2^k in which values are shared.
//
// Code below the Engine interface is a template over one of these: Ring128 carries fixed point,
// Ring64 sums that fit it, and the tiny rings exist so that tests can enumerate every random tape
// of the real protocol code.
//
// Timing  constant in elements; not in their number (public). Proved by tests/ctime.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/int128.h"
#include "crypto/random.h"

namespace partita::mpc {

static_assert(std::endian::native == std::endian::little,
              "a word's memory is its encoding on the wire: little-endian");

// Z_2^kBitCount held in a Word of at least that many bits; unused high bits are always zero.
template <typename WordType, int kBitCount>
struct Ring {
  using Word = WordType;
  static constexpr int kBits = kBitCount;
  // On the wire and in memory, per element: 16, 8, or 1 for the tiny rings.
  static constexpr size_t kBytes = sizeof(Word);
  static_assert(kBitCount >= 1 && kBitCount <= static_cast<int>(8 * sizeof(Word)));
  // True if the word has unused bits that every operation must clear.
  static constexpr bool kPartial = kBitCount < static_cast<int>(8 * sizeof(Word));

  static constexpr Word Reduce(UInt128 v) {
    if constexpr (kPartial) v &= (static_cast<UInt128>(1) << kBits) - 1;
    return static_cast<Word>(v);
  }
  static constexpr Word Add(Word a, Word b) { return Reduce(static_cast<UInt128>(a) + b); }
  static constexpr Word Sub(Word a, Word b) { return Reduce(static_cast<UInt128>(a) - b); }
  static constexpr Word Neg(Word a) { return Reduce(-static_cast<UInt128>(a)); }
  static constexpr Word Mul(Word a, Word b) { return Reduce(static_cast<UInt128>(a) * b); }

  // The residue of a signed integer.
  static constexpr Word FromSigned(Int128 v) { return Reduce(static_cast<UInt128>(v)); }
  // The representative in [-2^(kBits-1), 2^(kBits-1)).
  static constexpr Int128 ToSigned(Word v) {
    constexpr int kUnused = 128 - kBits;
    return static_cast<Int128>(static_cast<UInt128>(v) << kUnused) >> kUnused;
  }
};

using Ring128 = Ring<UInt128, 128>;
using Ring64 = Ring<uint64_t, 64>;
using Ring16 = Ring<uint8_t, 4>;  // Z_16
using Ring8 = Ring<uint8_t, 3>;   // Z_8
using Ring4 = Ring<uint8_t, 2>;   // Z_4

// The words' encoding on the wire: their memory, not a copy.
template <typename Word>
std::span<uint8_t> WireBytes(std::span<Word> words) {
  return {reinterpret_cast<uint8_t*>(words.data()), words.size_bytes()};
}
template <typename Word>
std::span<const uint8_t> WireBytes(std::span<const Word> words) {
  return {reinterpret_cast<const uint8_t*>(words.data()), words.size_bytes()};
}

// Clears the unused bits of words that came over the wire; nothing to do for whole words.
template <typename R>
void ReduceWords(std::span<typename R::Word> words) {
  if constexpr (R::kPartial) {
    for (auto& word : words) word = R::Reduce(word);
  }
}

// Independent uniform ring elements: one Fill for all, kBytes of the stream per element.
template <typename R>
void RandomWords(crypto::RandomSource& source, std::span<typename R::Word> out) {
  source.Fill(WireBytes(out));
  ReduceWords<R>(out);
}

}  // namespace partita::mpc
