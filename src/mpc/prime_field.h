// The prime fields in which the engine `shamir` shares values.
//
// Same names as Ring (ring.h), so that the local linear algebra below the Engine interface is one
// template over both. Field127 is what studies compute in; the tiny
// primes exist so that tests can enumerate every random tape of the real protocol code. All
// functions take and give canonical representatives in [0, p).
//
// Timing  constant in elements and integers; not in exponents of powers (public), nor for tiny
//         primes (tests). Proved by tests/ctime.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/int128.h"
#include "mpc/ring.h"

namespace partita::mpc {

// F_p in a Word, where p is kTinyPrime, or else the Mersenne number 2^kBitCount - 1. kBitCount is
// the number of bits of p.
template <typename WordType, int kBitCount, unsigned kTinyPrime = 0>
struct PrimeField {
  using Word = WordType;
  static constexpr int kBits = kBitCount;
  static constexpr size_t kBytes = sizeof(Word);  // on the wire and in memory, per element
  static constexpr bool kTiny = kTinyPrime != 0;
  static constexpr UInt128 kModulus =
      kTiny ? kTinyPrime : (static_cast<UInt128>(1) << kBitCount) - 1;
  static_assert(kTiny ? kModulus >> (kBitCount - 1) == 1 : kBitCount == 127);

  // Two non-negative integers below 2^kMaskBits add up to less than p.
  static constexpr int kMaskBits =
      kModulus + 1 >= static_cast<UInt128>(1) << kBitCount ? kBitCount - 1 : kBitCount - 2;

  // Bytes of a random tape that make one element; see FromTape.
  static constexpr size_t kTapeBytes = kTiny ? 1 : 16;
  // An element from uniform bytes of a tape. Its distance from uniform is below 2^-126 for 2^127 -
  // 1. Tiny fields take tapes of bytes that are uniform below p.
  static constexpr Word FromTape(UInt128 random) { return Reduce(random); }

  static constexpr Word Reduce(UInt128 v) {
    if constexpr (kTiny) return static_cast<Word>(v % kModulus);
    return Reduce2(v);
  }
  static constexpr Word Add(Word a, Word b) { return Final(static_cast<UInt128>(a) + b); }
  static constexpr Word Sub(Word a, Word b) { return Final(a + (kModulus - b)); }
  static constexpr Word Neg(Word a) { return Final(kModulus - a); }
  static constexpr Word Mul(Word a, Word b) {
    if constexpr (kTiny) {
      return Reduce(static_cast<UInt128>(a) * b);
    } else {
      return MulWide(a, b);
    }
  }
  static constexpr Word Power(Word base, UInt128 exponent) {
    Word power = 1;
    for (; exponent != 0; exponent >>= 1) {
      if ((exponent & 1) != 0) power = Mul(power, base);
      base = Mul(base, base);
    }
    return power;
  }
  // Of a != 0.
  static constexpr Word Inverse(Word a) { return Power(a, kModulus - 2); }

  // What came over the wire is an element.
  static constexpr bool IsCanonical(Word a) { return a < kModulus; }

  // The residue of a signed integer.
  static constexpr Word FromSigned(Int128 v) {
    const UInt128 negative = SignMask(static_cast<UInt128>(v));
    const Word residue = Reduce((static_cast<UInt128>(v) ^ negative) - negative);
    return Final((residue ^ negative) - negative + (negative & kModulus));
  }
  // The representative in [-(p - 1) / 2, (p - 1) / 2].
  static constexpr Int128 ToSigned(Word v) {
    const UInt128 above = SignMask((kModulus - 1) / 2 - v);
    return static_cast<Int128>(v - (above & kModulus));
  }

 private:
  // All ones if v, read as a signed integer, is negative, else zero: what selects without the
  // branch that a compiler may make of a comparison.
  static constexpr UInt128 SignMask(UInt128 v) {
    return static_cast<UInt128>(static_cast<Int128>(v) >> 127);
  }

  // v < 2 p.
  static constexpr Word Final(UInt128 v) {
    const UInt128 less = v - kModulus;
    return static_cast<Word>(less + (SignMask(less) & kModulus));
  }

  // a b = high 2^128 + low, below 2^254; folded at bit 127.
  static constexpr Word MulWide(UInt128 a, UInt128 b) {
    const auto a0 = static_cast<uint64_t>(a), a1 = static_cast<uint64_t>(a >> 64);
    const auto b0 = static_cast<uint64_t>(b), b1 = static_cast<uint64_t>(b >> 64);
    const UInt128 p00 = static_cast<UInt128>(a0) * b0;
    // Each factor's high half is below 2^63, so this sum does not overflow.
    const UInt128 middle = static_cast<UInt128>(a0) * b1 + static_cast<UInt128>(a1) * b0;
    const UInt128 low = p00 + (middle << 64);
    const UInt128 carry = low < p00 ? 1 : 0;
    const UInt128 high = static_cast<UInt128>(a1) * b1 + (middle >> 64) + carry;
    return Reduce2((low & kModulus) + ((high << 1) | (low >> 127)));
  }
  // v < 2^128.
  static constexpr Word Reduce2(UInt128 v) { return Final((v & kModulus) + (v >> 127)); }
};

using Field127 = PrimeField<UInt128, 127>;
// For enumeration in tests: three parties need p > 3, five p > 5.
using Field5 = PrimeField<uint8_t, 3, 5>;
using Field7 = PrimeField<uint8_t, 3, 7>;
using Field11 = PrimeField<uint8_t, 4, 11>;
using FieldOf5Bits = PrimeField<uint8_t, 5, 31>;
using FieldOf7Bits = PrimeField<uint8_t, 7, 127>;

}  // namespace partita::mpc
