// Marks memory as secret for valgrind's memcheck, and as public again.
//
// Memcheck follows undefined bits through all computing and reports a branch on one, and an address
// that is made from one. Both are what shows in the time that code takes, so a secret is memory
// that is said to be undefined although it holds a value. What memcheck does not know: whether an
// instruction takes longer for some operands (division does; the multiplications of the processors
// that Partita runs on do not).
//
// The method is that of libsecp256k1's ctime_tests and of A. Langley's ctgrind (2010).
#pragma once

#include <valgrind/memcheck.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/secret.h"

namespace partita::ctime {

template <typename T>
void Poison(std::span<T> secret) {
  VALGRIND_MAKE_MEM_UNDEFINED(secret.data(), secret.size_bytes());
}
template <typename T>
void Poison(std::vector<T>& secret) {
  Poison(std::span<T>(secret));
}
template <typename T>
void PoisonValue(T& secret) {
  VALGRIND_MAKE_MEM_UNDEFINED(&secret, sizeof(secret));
}

// What everybody may know afterwards; callers say why.
template <typename T>
void MakePublic(std::span<T> known) {
  VALGRIND_MAKE_MEM_DEFINED(known.data(), known.size_bytes());
}
template <typename T>
void MakePublic(std::vector<T>& known) {
  MakePublic(std::span<T>(known));
}

// So many secrets; what they are does not matter.
template <typename T>
std::vector<T> Secrets(size_t count, uint64_t seed = 1) {
  std::vector<T> values(count);
  auto* bytes = reinterpret_cast<uint8_t*>(values.data());
  for (size_t i = 0; i < count * sizeof(T); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    bytes[i] = static_cast<uint8_t>(seed >> 56);
  }
  Poison(values);
  return values;
}

// Tells the compiler that results are used.
template <typename T>
void Use(const T& result) {
  asm volatile("" : : "r"(&result) : "memory");
}

}  // namespace partita::ctime
