// A value that must not be printed, compared or forgotten in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace partita {

// Overwrites memory in a way that the compiler may not remove. Without bytes data may be null.
inline void Wipe(void* data, size_t size) {
  if (size == 0) return;
  std::memset(data, 0, size);
  asm volatile("" : : "r"(data) : "memory");
}

// Holds a trivially copyable secret (a key); wiped on destruction. No operator==, no stream output:
// the only way to the value is Expose(), which a text search finds.
template <typename T>
class Secret {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Secret() : value_{} {}
  explicit Secret(const T& value) : value_(value) {}
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret() { Wipe(&value_, sizeof(value_)); }
  bool operator==(const Secret&) const = delete;

  const T& Expose() const { return value_; }
  T& Expose() { return value_; }

 private:
  T value_;
};

// As many secret bytes as it is made with; wiped on destruction.
class SecretBytes {
 public:
  explicit SecretBytes(size_t size) : bytes_(size) {}
  SecretBytes(SecretBytes&&) = default;  // leaves nothing behind
  SecretBytes& operator=(SecretBytes&&) = delete;
  ~SecretBytes() { Wipe(bytes_.data(), bytes_.size()); }

  std::span<const uint8_t> Expose() const { return bytes_; }
  std::span<uint8_t> Expose() { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

}  // namespace partita
