// GF(2^k), the fields over which the engine `shamir` shares bits: F_2 itself has too few points.
//
// An element as a polynomial over F_2, bit i the coefficient of x^i. Shares of planes of bits
// (bits.h) are stored in slices: slice i holds bit i of the shares of 64 entries in each word, so
// that a sum is an exclusive or and the constant 1 has all its ones in slice 0.
//
// Timing  of slices constant in shares; not in factors (public). Proved by tests/ctime. Mul and
//         Inverse of single elements are NOT constant: of public coefficients, and of shares that
//         disagree (ShareDecoder::DecodeVarTime).
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace partita::mpc {

// k = 2: up to 3 parties; 3: 7; 4: 15. Moduli x^2 + x + 1, x^3 + x + 1, x^4 + x + 1.
template <size_t kDegree>
struct BinaryField {
  static_assert(kDegree >= 2 && kDegree <= 4);
  using Word = uint8_t;
  static constexpr size_t kSlices = kDegree;
  static constexpr unsigned kOrder = 1u << kDegree;
  static constexpr unsigned kPolynomial = kOrder | (kDegree == 2 ? 0b111u : 0b11u);

  static constexpr Word Add(Word a, Word b) { return static_cast<Word>(a ^ b); }
  static constexpr Word Sub(Word a, Word b) { return static_cast<Word>(a ^ b); }
  static constexpr Word Neg(Word a) { return a; }
  static constexpr Word Mul(Word a, Word b) {
    unsigned product = 0;
    for (size_t i = 0; i < kDegree; ++i) product ^= (b >> i & 1u) != 0 ? unsigned{a} << i : 0u;
    for (size_t i = 2 * kDegree - 2; i >= kDegree; --i) {
      if ((product >> i & 1u) != 0) product ^= kPolynomial << (i - kDegree);
    }
    return static_cast<Word>(product);
  }
  // Of a != 0: a^(order - 2).
  static constexpr Word Inverse(Word a) {
    Word power = 1;
    for (unsigned i = 0; i < kOrder - 2; ++i) power = Mul(power, a);
    return power;
  }
};

// Slices of the shares of so many words of planes.
template <size_t kDegree>
using BitSlices = std::array<std::vector<uint64_t>, kDegree>;

template <size_t kDegree>
BitSlices<kDegree> MakeSlices(size_t words) {
  BitSlices<kDegree> slices;
  for (auto& slice : slices) slice.resize(words);
  return slices;
}

// out += factor * a.
template <size_t kDegree>
void AddScaled(const BitSlices<kDegree>& a, uint8_t factor, BitSlices<kDegree>& out) {
  using F = BinaryField<kDegree>;
  for (size_t from = 0; from < kDegree; ++from) {
    const uint8_t image = F::Mul(static_cast<uint8_t>(1u << from), factor);
    for (size_t to = 0; to < kDegree; ++to) {
      if ((image >> to & 1) == 0) continue;
      assert(a[from].size() == out[to].size());
      for (size_t w = 0; w < out[to].size(); ++w) out[to][w] ^= a[from][w];
    }
  }
}

// a * b, entry by entry.
template <size_t kDegree>
BitSlices<kDegree> Multiply(const BitSlices<kDegree>& a, const BitSlices<kDegree>& b) {
  using F = BinaryField<kDegree>;
  auto out = MakeSlices<kDegree>(a[0].size());
  for (size_t i = 0; i < kDegree; ++i) {
    for (size_t j = 0; j < kDegree; ++j) {
      const uint8_t image = F::Mul(static_cast<uint8_t>(1u << i), static_cast<uint8_t>(1u << j));
      for (size_t to = 0; to < kDegree; ++to) {
        if ((image >> to & 1) == 0) continue;
        for (size_t w = 0; w < out[to].size(); ++w) out[to][w] ^= a[i][w] & b[j][w];
      }
    }
  }
  return out;
}

// The element at bit `bit` of word `word`.
template <size_t kDegree>
uint8_t ElementAt(const BitSlices<kDegree>& slices, size_t word, size_t bit) {
  uint64_t element = 0;
  for (size_t i = 0; i < kDegree; ++i) element |= (slices[i][word] >> bit & 1u) << i;
  return static_cast<uint8_t>(element);
}

}  // namespace partita::mpc
